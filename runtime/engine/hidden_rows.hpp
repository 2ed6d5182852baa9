// Rows between the backbone and the experts: contiguous, 64-byte aligned, bf16
// or f32. Filled once by their maker, then shared as `hidden_ptr` and never
// changed, so that messages inside the process need no copy.
#pragma once

#include "kernels/tensor.hpp"

#include <memory>

namespace troupe {

struct hidden_rows {
  kernels::dtype type = kernels::dtype::bf16;
  size_t rows = 0;
  size_t cols = 0;
  kernels::aligned_buffer memory; ///< [rows, cols]

  hidden_rows() = default;

  /// Zeroed memory for `n` rows of `width` elements.
  hidden_rows(size_t n, size_t width, kernels::dtype element)
    : type(element), rows(n), cols(width),
      memory(n * width * kernels::size_of(element)) {
    // nop
  }

  size_t row_bytes() const {
    return cols * kernels::size_of(type);
  }
  std::byte* row(size_t i) {
    return memory.data() + i * row_bytes();
  }
  const std::byte* row(size_t i) const {
    return memory.data() + i * row_bytes();
  }
  kernels::activation_view view() const {
    return {memory.data(), type, rows, cols, cols};
  }
  kernels::output_view output() {
    return {memory.data(), type, rows, cols, cols};
  }
};

using hidden_ptr = std::shared_ptr<const hidden_rows>;

} // namespace troupe
