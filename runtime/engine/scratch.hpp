// Memory of one pass, allocated once for the most rows a batch may have and
// viewed as so many rows.
#pragma once

#include "runtime/engine/hidden_rows.hpp"

namespace troupe {

/// [rows_max, cols] in f32.
class f32_scratch {
public:
  f32_scratch() = default;
  f32_scratch(size_t rows_max, size_t cols)
    : cols_(cols), memory_(rows_max * cols * sizeof(float)) {
    // nop
  }

  size_t cols() const {
    return cols_;
  }
  kernels::matrix_view<float> rows(size_t n) {
    return {memory_.as<float>().data(), n, cols_, cols_};
  }

private:
  size_t cols_ = 0;
  kernels::aligned_buffer memory_;
};

inline kernels::activation_view as_activation(kernels::matrix_view<float> x) {
  return {x.data, kernels::dtype::f32, x.rows, x.cols, x.stride};
}

inline kernels::output_view as_output(kernels::matrix_view<float> x) {
  return {x.data, kernels::dtype::f32, x.rows, x.cols, x.stride};
}

inline kernels::output_view first_rows(hidden_rows& x, size_t n) {
  return {x.memory.data(), x.type, n, x.cols, x.cols};
}

inline kernels::activation_view first_rows_of(const hidden_rows& x, size_t n) {
  return {x.memory.data(), x.type, n, x.cols, x.cols};
}

/// Columns [first, first + count) of every row.
template <class T>
kernels::matrix_view<T> columns(kernels::matrix_view<T> x, size_t first,
                                size_t count) {
  return {x.data + first, x.rows, count, x.stride};
}

inline kernels::activation_view columns(kernels::activation_view x,
                                        size_t first, size_t count) {
  return {static_cast<const std::byte*>(x.data) +
            first * kernels::size_of(x.type),
          x.type, x.rows, count, x.stride};
}

/// Rows [first, first + count).
template <class T>
kernels::matrix_view<T> rows_of(kernels::matrix_view<T> x, size_t first,
                                size_t count) {
  return {x.row(first), count, x.cols, x.stride};
}

} // namespace troupe
