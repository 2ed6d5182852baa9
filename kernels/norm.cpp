// Norm kernels. Tasks are runs of rows; a row (or head) is one reduction.
#include "kernels/norm.hpp"

#include "kernels/norm_job.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE float mean_of_squares(const float* x, size_t n) {
  const f32_tag d;
  const float sum = reduce_row(
    x, n, [d](f32_vec s, f32_vec a, size_t) { return fused(d, a, a, s); });
  return sum / static_cast<float>(n);
}

HWY_INLINE float mean_of(const float* x, size_t n) {
  const float sum = reduce_row(
    x, n, [](f32_vec s, f32_vec a, size_t) { return hn::Add(s, a); });
  return sum / static_cast<float>(n);
}

HWY_INLINE float variance_of(const float* x, size_t n, float mean) {
  const f32_tag d;
  const float sum =
    reduce_row(x, n, [d, mean](f32_vec s, f32_vec a, size_t valid) {
      f32_vec off = hn::Sub(a, hn::Set(d, mean));
      if (valid < width)
        off = hn::IfThenElseZero(hn::FirstN(d, valid), off);
      return fused(d, off, off, s);
    });
  return sum / static_cast<float>(n);
}

/// y[i] = f(x[i], weight[i], other[i]).
template <class T, class F>
HWY_INLINE void map_row(const norm_job& job, T* y, F f) {
  const size_t n = job.n;
  size_t i = 0;
  for (; i + width <= n; i += width)
    store_row(
      f(load_row(job.x + i), load_row(job.weight + i), load_row(job.other + i)),
      y + i);
  if (i < n)
    store_tail(f(load_tail(job.x + i, n - i), load_tail(job.weight + i, n - i),
                 load_tail(job.other + i, n - i)),
               y + i, n - i);
}

template <class F>
HWY_INLINE void map_job(const norm_job& job, F f) {
  if (job.type == dtype::f32)
    map_row(job, reinterpret_cast<float*>(job.y), f);
  else
    map_row(job, reinterpret_cast<bf16*>(job.y), f);
}

HWY_INLINE f32_vec rms_factor(const norm_job& job) {
  const float mean = mean_of_squares(job.x, job.n);
  return hn::Set(f32_tag(), 1.0f / std::sqrt(mean + job.eps));
}

void rms_norm_one(const norm_job& job) {
  const f32_vec factor = rms_factor(job);
  map_job(job, [factor](f32_vec x, f32_vec weight, f32_vec) {
    return hn::Mul(hn::Mul(x, factor), weight);
  });
}

void rms_norm_gated_one(const norm_job& job) {
  const f32_vec factor = rms_factor(job);
  map_job(job, [factor](f32_vec x, f32_vec weight, f32_vec gate) {
    return hn::Mul(hn::Mul(hn::Mul(x, factor), weight),
                   silu_f32(f32_tag(), gate));
  });
}

void layer_norm_one(const norm_job& job) {
  const f32_tag d;
  const float mean = mean_of(job.x, job.n);
  const float variance = variance_of(job.x, job.n, mean);
  const f32_vec center = hn::Set(d, mean);
  const f32_vec factor = hn::Set(d, 1.0f / std::sqrt(variance + job.eps));
  map_job(job, [=](f32_vec x, f32_vec weight, f32_vec bias) {
    return fused(d, hn::Mul(hn::Sub(x, center), factor), weight, bias);
  });
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

namespace troupe::kernels {

namespace {

constexpr size_t task_elements = size_t{16} * 1024;

/// Calls `one` for every head of `job.n` elements. Without a gate every head
/// has the other operand of `job`.
template <class One>
void for_heads(const gated_norm_input& input, const norm_job& job,
               output_view y, lanes& pool, One one) {
  const auto& x = input.x;
  TROUPE_ASSERT(job.n > 0 && x.cols % job.n == 0);
  TROUPE_ASSERT(x.rows == y.rows && x.cols == y.cols);
  TROUPE_ASSERT(y.type == dtype::f32 || y.type == dtype::bf16);
  const size_t rows_per_task = std::max<size_t>(1, task_elements / x.cols);
  const size_t tasks = (x.rows + rows_per_task - 1) / rows_per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t) {
    const size_t end = std::min(x.rows, (task + 1) * rows_per_task);
    for (size_t r = task * rows_per_task; r < end; ++r)
      for (size_t at = 0; at < x.cols; at += job.n) {
        norm_job head = job;
        head.x = x.row(r) + at;
        if (input.gate.rows > 0)
          head.other = input.gate.row(r) + at;
        head.type = y.type;
        head.y = y.row(r) + at * size_of(y.type);
        one(head);
      }
  });
}

} // namespace

void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y, lanes& pool) {
  // The weight stands for the operand that this norm does not have.
  const norm_job job{.weight = weight.data(),
                     .other = weight.data(),
                     .n = weight.size(),
                     .eps = options.eps};
  for_heads({x, {}}, job, y, pool, TROUPE_SIMD_PICK(options.isa, rms_norm_one));
}

void rms_norm(const norm_options& options, matrix_view<const float> x,
              std::span<const float> weight, output_view y, lanes& pool) {
  TROUPE_ASSERT(x.cols == weight.size());
  rms_norm_heads(options, x, weight, y, pool);
}

void rms_norm_gated(const norm_options& options, const gated_norm_input& input,
                    std::span<const float> weight, output_view y, lanes& pool) {
  TROUPE_ASSERT(input.gate.rows == input.x.rows);
  TROUPE_ASSERT(input.gate.cols == input.x.cols);
  const norm_job job{
    .weight = weight.data(), .n = weight.size(), .eps = options.eps};
  for_heads(input, job, y, pool,
            TROUPE_SIMD_PICK(options.isa, rms_norm_gated_one));
}

void layer_norm(const norm_options& options, matrix_view<const float> x,
                const norm_affine& affine, output_view y, lanes& pool) {
  TROUPE_ASSERT(x.cols == affine.weight.size());
  TROUPE_ASSERT(affine.bias.size() == affine.weight.size());
  const norm_job job{.weight = affine.weight.data(),
                     .other = affine.bias.data(),
                     .n = affine.weight.size(),
                     .eps = options.eps};
  for_heads({x, {}}, job, y, pool,
            TROUPE_SIMD_PICK(options.isa, layer_norm_one));
}

} // namespace troupe::kernels

#endif
