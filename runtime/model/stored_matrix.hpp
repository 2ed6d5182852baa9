// A weight matrix as a checkpoint stores it: elements, and the scales of
// quantised ones.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/checkpoint.hpp"
#include "runtime/model/model_config.hpp"
#include "runtime/model/tensor_info.hpp"

#include <cstdint>
#include <string_view>

namespace troupe {

struct stored_matrix {
  weight_format format = weight_format::plain;
  uint64_t rows = 0; ///< Outputs.
  uint64_t cols = 0; ///< Inputs.
  /// [rows, cols]; of mxfp4: bytes of two codes, [rows, cols / 2].
  host_tensor values;
  /// fp8_block: [ceil(rows / 128), ceil(cols / 128)], mxfp4: bytes, [rows,
  /// cols / 32]; otherwise empty.
  host_tensor scales;
};

/// Reads a matrix that is a tensor of its own, with the scales beside it. Fails
/// like `checkpoint::load`.
result<stored_matrix> read_matrix(const checkpoint& files,
                                  std::string_view name);

/// An uninitialised tensor.
host_tensor make_host_tensor(kernels::dtype type, std::vector<uint64_t> shape);

/// Where the elements of a matrix lie in another one.
struct matrix_layout {
  uint64_t offset = 0; ///< Of element (0, 0), in elements.
  uint64_t row_stride = 0;
  uint64_t col_stride = 1;
};

/// Copies [rows, cols] elements out of `source`.
/// @pre all of them lie in it
host_tensor copy_matrix(const host_tensor& source, const matrix_layout& from,
                        uint64_t rows, uint64_t cols);

} // namespace troupe
