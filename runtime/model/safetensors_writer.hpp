// Writes a safetensors file: results for other programs to read.
#pragma once

#include "kernels/dtype.hpp"
#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// A tensor to be written; borrows its bytes (row-major, little-endian).
struct tensor_source {
  std::string name;
  kernels::dtype dtype = kernels::dtype::f32;
  std::vector<uint64_t> shape; ///< Outermost first.
  std::span<const std::byte> bytes;
};

/// Writes `tensors` to `path`, replacing a file that is there. A file that
/// could not be written whole is removed. Names are distinct and plain text.
/// @pre each shape x type equals its bytes
/// Fails with io, naming the path.
result<void> write_safetensors(const std::string& path,
                               std::span<const tensor_source> tensors);

} // namespace troupe
