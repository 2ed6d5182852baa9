// RMS norm kernels. Tasks are runs of rows; a row (or head) is one reduction.
#include "kernels/norm.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

float sum_of_squares(const float* x, size_t n) {
  const f32_tag d;
  f32_vec sums[partial_vectors];
  for (auto& sum : sums)
    sum = hn::Zero(d);
  size_t i = 0;
  for (; i + partials <= n; i += partials)
    for (size_t v = 0; v < partial_vectors; ++v) {
      const f32_vec a = load_row(x + i + v * width);
      sums[v] = fused(d, a, a, sums[v]);
    }
  for (size_t v = 0; i < n; ++v, i += width) {
    const f32_vec a =
      i + width <= n ? load_row(x + i) : load_tail(x + i, n - i);
    sums[v] = fused(d, a, a, sums[v]);
  }
  return sum_partials(sums);
}

template <class T>
void norm_one(const float* x, const float* weight, size_t n, float eps, T* y) {
  const f32_tag d;
  const float mean = sum_of_squares(x, n) / static_cast<float>(n);
  const f32_vec factor = hn::Set(d, 1.0f / std::sqrt(mean + eps));
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const f32_vec scaled = hn::Mul(load_row(x + i), factor);
    store_row(hn::Mul(scaled, load_row(weight + i)), y + i);
  }
  if (i < n) {
    const f32_vec scaled = hn::Mul(load_tail(x + i, n - i), factor);
    store_tail(hn::Mul(scaled, load_tail(weight + i, n - i)), y + i, n - i);
  }
}

/// One head or row of `n` elements; y is f32 or bf16.
void rms_norm_one(const float* x, const float* weight, size_t n, float eps,
                  dtype type, std::byte* y) {
  if (type == dtype::f32)
    norm_one(x, weight, n, eps, reinterpret_cast<float*>(y));
  else
    norm_one(x, weight, n, eps, reinterpret_cast<bf16*>(y));
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

namespace troupe::kernels {

namespace {

constexpr size_t task_elements = size_t{16} * 1024;

} // namespace

void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y, lanes& pool) {
  const size_t n = weight.size();
  TROUPE_ASSERT(n > 0 && x.cols % n == 0);
  TROUPE_ASSERT(x.rows == y.rows && x.cols == y.cols);
  TROUPE_ASSERT(y.type == dtype::f32 || y.type == dtype::bf16);
  const auto one = TROUPE_SIMD_PICK(options.isa, rms_norm_one);
  const size_t rows_per_task = std::max<size_t>(1, task_elements / x.cols);
  const size_t tasks = (x.rows + rows_per_task - 1) / rows_per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t) {
    const size_t end = std::min(x.rows, (task + 1) * rows_per_task);
    for (size_t r = task * rows_per_task; r < end; ++r)
      for (size_t at = 0; at < x.cols; at += n)
        one(x.row(r) + at, weight.data(), n, options.eps, y.type,
            y.row(r) + at * size_of(y.type));
  });
}

void rms_norm(const norm_options& options, matrix_view<const float> x,
              std::span<const float> weight, output_view y, lanes& pool) {
  TROUPE_ASSERT(x.cols == weight.size());
  rms_norm_heads(options, x, weight, y, pool);
}

} // namespace troupe::kernels

#endif
