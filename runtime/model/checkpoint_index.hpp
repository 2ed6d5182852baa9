// model.safetensors.index.json: which file holds which tensor, and how many
// bytes all of them have.
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace troupe {

struct checkpoint_index {
  /// Tensor -> file beside the index. At least one.
  std::map<std::string, std::string, std::less<>> files;
  /// metadata.total_size; absent when it is no whole number.
  std::optional<uint64_t> total_bytes;
};

/// Reads and checks an index. File names are plain: nothing that leads out of
/// the folder, or that spells one file in two ways. All names at fault are in
/// one message. Fails with not_found, io, bad_format.
result<checkpoint_index> read_checkpoint_index(const std::string& path);

} // namespace troupe
