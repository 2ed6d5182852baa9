// Memory of tensors: a buffer that owns, and views that borrow.
// All views are row-major; `stride` is the distance of two rows in elements.
#pragma once

#include "kernels/dtype.hpp"
#include "runtime/assert.hpp"

#include <cstddef>
#include <span>
#include <type_traits>

namespace troupe::kernels {

/// Zeroed memory on a 64-byte boundary. From 2 MiB on it starts on a 2 MiB
/// boundary and asks for huge pages: streaming weights is a sixth faster.
class aligned_buffer {
public:
  static constexpr size_t alignment = 64;
  static constexpr size_t huge_page_bytes = size_t{2} << 20;

  aligned_buffer() = default;
  /// Throws std::bad_alloc when the system has no more memory.
  explicit aligned_buffer(size_t bytes);
  aligned_buffer(aligned_buffer&& other) noexcept;
  aligned_buffer& operator=(aligned_buffer&& other) noexcept;
  ~aligned_buffer();

  std::byte* data() {
    return data_;
  }
  const std::byte* data() const {
    return data_;
  }
  size_t size_bytes() const {
    return bytes_;
  }
  bool empty() const {
    return bytes_ == 0;
  }
  /// The bytes as elements of `T` (as many whole ones as fit).
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }

private:
  void release();

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  size_t mapped_bytes_ = 0; ///< 0: from the heap.
};

/// Rows of elements of type `T` (const for reading).
template <class T>
struct matrix_view {
  T* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  T* row(size_t i) const {
    return data + i * stride;
  }
  operator matrix_view<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }
};

/// Rows whose element type (f32 or bf16) is known at run time only: the input
/// of a linear layer in the compute type of its mode, or a weight to be packed.
struct activation_view {
  const void* data = nullptr;
  dtype type = dtype::f32;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  const std::byte* row(size_t i) const {
    return static_cast<const std::byte*>(data) + i * stride * size_of(type);
  }
};

/// A weight matrix in a file or in memory, [outputs, inputs].
using weight_view = activation_view;

/// Rows to be written, in f32 or bf16.
struct output_view {
  void* data = nullptr;
  dtype type = dtype::f32;
  size_t rows = 0;
  size_t cols = 0;
  size_t stride = 0;

  std::byte* row(size_t i) const {
    return static_cast<std::byte*>(data) + i * stride * size_of(type);
  }
};

/// Views dense rows as an activation.
template <class T>
activation_view as_activation(const T* data, size_t rows, size_t cols) {
  return {data, dtype_of<std::remove_const_t<T>>, rows, cols, cols};
}

/// Views dense rows as an output.
template <class T>
output_view as_output(T* data, size_t rows, size_t cols) {
  return {data, dtype_of<T>, rows, cols, cols};
}

} // namespace troupe::kernels
