// The options that all commands with a model share, and what they open.
#pragma once

#include "config/cluster_config.hpp"
#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "runtime/engine/packed_images.hpp"
#include "runtime/error.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/model/tokenizer.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace troupe::cli {

struct model_options {
  std::string folder;
  std::string dtype; ///< Empty: bf16, or what the configuration says.
  std::string isa;   ///< Empty: the best of this machine.
  uint32_t lanes = 0;
  bool no_cache = false;
  std::string cache_dir;   ///< Empty: as the configuration says.
  std::string cache_pages; ///< The same.
  std::optional<uint64_t> cache_bytes_max; ///< Of a head's own worker.

  /// Declares --model, --dtype, --isa, --lanes and the cache's options.
  void declare(CLI::App& app);

  /// Checks dtype and ISA. Fails with invalid_argument or unsupported.
  result<kernels::compute_options> compute() const;

  /// The cache of packed weights, with notes on stderr.
  image_cache_options cache(cache_config x = {}) const;

  /// Lanes: as asked, else one per core the process may use.
  kernels::lanes_options lane_options() const;
};

/// Fails with invalid_argument (none given) or not_found when `folder` is no
/// folder.
result<void> need_model(const std::string& folder);

/// Opens `folder` and prints its warnings to stderr. Fails as `open_model`.
result<model_ptr> open_noted_model(const std::string& folder);

/// Prints what is odd about a model, a line each.
void note_warnings(const opened_model& model);

/// FOLDER/tokenizer.json; nothing when there is none.
result<std::optional<tokenizer>> open_tokenizer(const std::string& folder);

/// The same, when it is needed. Fails with not_found, saying what to do.
result<tokenizer> need_tokenizer(const std::string& folder);

/// Parses "1,2,3". Fails with invalid_argument naming the item.
result<std::vector<token_id>> parse_ids(const std::string& text);

/// A whole file, at most 64 MiB. Fails with not_found or io.
result<std::string> read_text_file(const std::string& path);

} // namespace troupe::cli
