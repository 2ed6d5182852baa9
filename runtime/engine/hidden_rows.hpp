// Rows between the backbone and the experts: contiguous, 64-byte aligned, bf16
// or f32. Filled once by their maker, then shared as `hidden_ptr` and never
// changed, so that messages inside the process need no copy.
#pragma once

#include "kernels/tensor.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

struct hidden_rows {
  kernels::dtype type = kernels::dtype::bf16;
  size_t rows = 0;
  size_t cols = 0;
  kernels::aligned_buffer memory; ///< At least [rows, cols].

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

/// Recycles the memory of rows that nobody holds any more: a pass needs the
/// same few buffers in every layer, and fresh pages cost as much as a small
/// layer. Thread-safe; may die before its buffers.
class row_pool {
public:
  /// @param bytes_max Bound on the memory kept for later.
  explicit row_pool(size_t bytes_max);

  /// Rows with arbitrary contents; the memory comes back when the last owner
  /// lets go of the pointer.
  std::shared_ptr<hidden_rows> take(size_t rows, size_t cols,
                                    kernels::dtype type);

private:
  struct state;

  std::shared_ptr<state> state_;
};

} // namespace troupe
