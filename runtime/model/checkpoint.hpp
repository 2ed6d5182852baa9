// The weights of a model folder as one set of tensors: model.safetensors, or
// the shards that model.safetensors.index.json names. The index is the law: a
// tensor is taken from the file the index gives it to and from no other one.
// What lies in the folder besides is not used, which is said as a warning.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/checkpoint_index.hpp"
#include "runtime/model/safetensors.hpp"
#include "runtime/model/tensor_info.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Fails with not_found when `folder` is no folder.
result<void> check_is_folder(const std::string& folder);

class checkpoint {
public:
  /// Opens the files of `folder`. All faults of the shards (missing, broken,
  /// without a tensor the index promises) are in one message. Fails with
  /// not_found, io, bad_format.
  static result<checkpoint> open(const std::string& folder);

  const std::string& folder() const {
    return folder_;
  }

  /// What is odd about the folder without being wrong, a sentence each: files
  /// and copies of tensors that are not used, an index with another sum.
  const std::vector<std::string>& warnings() const {
    return warnings_;
  }

  /// Names in alphabetical order.
  std::vector<std::string> names() const;

  /// nullptr if there is none.
  const tensor_info* find(std::string_view name) const;

  /// The file that holds `name`, for messages; empty if there is none.
  std::string file_of(std::string_view name) const;

  /// Reads a whole tensor. Fails with not_found, io, bad_format (cut short).
  result<host_tensor> load(std::string_view name) const;

  /// Fills `out` from byte `begin` of the tensor on. Any thread.
  result<void> read(std::string_view name, uint64_t begin,
                    std::span<std::byte> out) const;

  /// The stamps of all files, a line each: what was made of the weights is
  /// valid as long as this stays the same.
  std::string stamp() const;

  /// Bytes of all tensors.
  uint64_t tensor_bytes() const;

  /// Bytes of tensors read so far.
  uint64_t bytes_read() const;

  size_t file_count() const {
    return files_.size();
  }

private:
  struct location {
    size_t file = 0;
    const tensor_info* info = nullptr;
  };

  static result<checkpoint> open_single(const std::string& folder);
  static result<checkpoint> open_sharded(const std::string& folder,
                                         const checkpoint_index& index);

  void warn_of_unused_tensors();
  void warn_of_unused_files();

  std::string folder_;
  std::vector<safetensors_file> files_;
  std::map<std::string, location, std::less<>> tensors_;
  std::vector<std::string> warnings_;
};

} // namespace troupe
