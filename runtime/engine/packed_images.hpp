// Packed weights of one model as images: from the host's cache file when it has
// them, else packed from the checkpoint and put there for the next process and
// the next start. Whatever is wrong with the cache costs time only: the image
// is then packed into memory of its own, and the first reason is told.
//
//   slots of the file:  backbone in chunks | layer 0: expert 0, 1, ... | ...
//
// The bytes of an image are those that packing gives, wherever they lie.
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/cache/slot_file.hpp"
#include "runtime/engine/weight_tape.hpp"
#include "runtime/error.hpp"
#include "runtime/model/opened_model.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace troupe {

/// Bytes that stay valid as long as `owner` lives, on a 64-byte boundary.
struct packed_image {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// What an image in the cache is read through.
enum class image_pages {
  automatic, ///< The file's pages if some are huge, else a copy.
  file,      ///< The file's pages: one copy for all processes of the host.
  anonymous, ///< A copy in huge pages of the process's own.
};

struct image_cache_options {
  std::string folder; ///< Empty: no cache.
  /// Of the whole folder, other models' files included.
  uint64_t bytes_max = UINT64_MAX;
  uint32_t free_percent_min = 5; ///< Left free on the folder's file system.
  image_pages pages = image_pages::automatic;
  /// How long an expert that another process is packing is waited for, before
  /// it is packed here too.
  std::chrono::milliseconds patience{1000};
  /// Told once when the cache cannot be used or filled; may be empty. Any
  /// thread.
  std::function<void(const std::string&)> warn;
};

class packed_images {
public:
  /// Opens the cache file of this model, these options and this version of the
  /// layouts. Never fails: there may be no cache.
  static std::shared_ptr<packed_images> open(model_ptr model,
                                             kernels::compute_options options,
                                             image_cache_options cache = {});

  const opened_model& model() const {
    return *model_;
  }
  kernels::compute_options options() const {
    return options_;
  }

  /// The image of an expert. Errors: those of `pack_expert_into`. Any thread.
  result<packed_image> expert(layer_index layer, expert_id expert);

  /// The whole backbone's image, compared on the lanes; absent: not in the
  /// cache.
  std::optional<packed_image> backbone(kernels::lanes& pool);

  /// Puts the backbone's image into the cache. Returns whether it is there.
  bool store_backbone(std::span<const weight_tape::stretch> image,
                      kernels::lanes& pool);

  struct statistics {
    std::string file;        ///< Empty: no cache.
    uint64_t cached = 0;     ///< Experts' images taken from the cache.
    uint64_t packed = 0;     ///< Experts' images made.
    uint64_t stored = 0;     ///< Of these, put into the cache.
    uint64_t disk_bytes = 0; ///< Of the file.
    uint64_t bytes_read = 0; ///< Of the checkpoint's tensors, by anybody.
  };
  statistics stats() const;

private:
  packed_images(model_ptr model, kernels::compute_options options,
                image_cache_options cache);

  void open_file();
  std::string identity() const;
  std::string note() const;
  std::optional<packed_image> find(size_t slot);
  std::optional<slot_file::mapped_bytes> find_mapped(size_t slot);
  result<packed_image> pack(layer_index layer, expert_id expert);
  bool store(const slot_file::claim& mine, std::span<const std::byte> bytes);
  bool wants_copy(std::span<const std::byte> mapped);
  std::optional<packed_image> in_place(slot_file::mapped_bytes x);
  void warn_once(const std::string& text);
  size_t slot_of(layer_index layer, expert_id expert) const;

  const model_ptr model_;
  const kernels::compute_options options_;
  const image_cache_options cache_;
  std::vector<size_t> moe_rank_; ///< Layer -> which MoE layer it is.
  size_t chunks_ = 0;            ///< Slots of the backbone.
  std::string stamp_;            ///< Of the checkpoint when it was opened.
  std::shared_ptr<slot_file> file_;
  std::atomic<bool> is_full_{false}; ///< Nothing more can be stored.
  std::once_flag pages_decided_;
  bool copies_ = false; ///< Set once, by whom `pages_decided_` lets.
  std::once_flag warned_;
  std::atomic<uint64_t> cached_{0};
  std::atomic<uint64_t> packed_{0};
  std::atomic<uint64_t> stored_{0};
};

} // namespace troupe
