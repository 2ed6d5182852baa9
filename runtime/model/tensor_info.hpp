// What a checkpoint file says about one tensor, and a tensor's bytes once read.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// One tensor of a file.
struct tensor_info {
  std::string name;
  kernels::dtype dtype = kernels::dtype::bf16;
  /// The file's name of an element type that this program does not know; empty
  /// when `dtype` says it. Such a tensor cannot be used, but may lie there.
  std::string foreign_type = {};
  std::vector<uint64_t> shape; ///< Outermost first.
  uint64_t offset = 0;         ///< Of the first byte, from the file's start.
  uint64_t bytes = 0;          ///< Elements x size of one, checked.
};

/// "BF16[64, 40]"
std::string describe(const tensor_info& x);

/// A tensor in memory, row-major as in the file. Move-only.
struct host_tensor {
  kernels::dtype dtype = kernels::dtype::bf16;
  std::vector<uint64_t> shape;
  std::unique_ptr<std::byte[]> data; ///< 16-byte aligned.
  size_t bytes = 0;

  std::span<const std::byte> view() const {
    return {data.get(), bytes};
  }
  uint64_t elements() const;
};

} // namespace troupe
