// Rotary position embedding. Two products and a sum without fusing, as
// frameworks that compute element by element do.
#include "kernels/rope.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// Turns (x[i], x[i + half]) by the angle i, i < half.
void rotate_half_split(float* x, const float* cosine, const float* sine,
                       size_t half) {
  size_t i = 0;
  for (; i + width <= half; i += width) {
    const f32_vec a = load_row(x + i);
    const f32_vec b = load_row(x + half + i);
    const f32_vec c = load_row(cosine + i);
    const f32_vec s = load_row(sine + i);
    store_row(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), x + i);
    store_row(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), x + half + i);
  }
  for (; i < half; ++i) {
    const float a = x[i];
    const float b = x[half + i];
    x[i] = a * cosine[i] - b * sine[i];
    x[half + i] = b * cosine[i] + a * sine[i];
  }
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

namespace troupe::kernels {

namespace {

constexpr size_t task_elements = size_t{32} * 1024;

/// Turns (x[2 i], x[2 i + 1]) by the angle i, i < half.
void rotate_interleaved(float* x, const float* cosine, const float* sine,
                        size_t half) {
  for (size_t i = 0; i < half; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = b * cosine[i] + a * sine[i];
  }
}

} // namespace

std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim) {
  TROUPE_ASSERT(rotary_dim % 2 == 0 && theta > 0);
  std::vector<float> frequencies(rotary_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent =
      -static_cast<double>(2 * i) / static_cast<double>(rotary_dim);
    frequencies[i] = static_cast<float>(pow_f64(theta, exponent));
  }
  return frequencies;
}

void rope_angles(std::span<const float> inverse_frequencies,
                 std::span<const size_t> positions, float scaling,
                 matrix_view<float> angles) {
  const size_t half = inverse_frequencies.size();
  TROUPE_ASSERT(angles.rows == positions.size() && angles.cols == 2 * half);
  for (size_t r = 0; r < positions.size(); ++r) {
    TROUPE_ASSERT(positions[r] <= (size_t{1} << 21));
    const auto position = static_cast<double>(positions[r]);
    float* cosine = angles.row(r);
    for (size_t i = 0; i < half; ++i) {
      const sin_cos y = sin_cos_f64(position * double{inverse_frequencies[i]});
      cosine[i] = static_cast<float>(y.cos) * scaling;
      cosine[half + i] = static_cast<float>(y.sin) * scaling;
    }
  }
}

void apply_rope(const rope_options& options, matrix_view<const float> angles,
                matrix_view<float> x, lanes& pool) {
  TROUPE_ASSERT(options.rotary_dim % 2 == 0);
  TROUPE_ASSERT(options.rotary_dim <= options.head_dim);
  TROUPE_ASSERT(options.head_dim > 0 && x.cols % options.head_dim == 0);
  TROUPE_ASSERT(angles.rows == x.rows && angles.cols == options.rotary_dim);
  const size_t half = options.rotary_dim / 2;
  const auto rotate = options.pairs == rope_pairs::half_split
                        ? TROUPE_SIMD_PICK(options.isa, rotate_half_split)
                        : &rotate_interleaved;
  const size_t per_task = std::max<size_t>(1, task_elements / x.cols);
  const size_t tasks = (x.rows + per_task - 1) / per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t) {
    const size_t end = std::min(x.rows, (task + 1) * per_task);
    for (size_t r = task * per_task; r < end; ++r)
      for (size_t at = 0; at < x.cols; at += options.head_dim)
        rotate(x.row(r) + at, angles.row(r), angles.row(r) + half, half);
  });
}

} // namespace troupe::kernels

#endif
