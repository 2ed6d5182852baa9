// Element-by-element kernels over rows; no reductions, so no order to fix.
#include "kernels/elementwise.hpp"

#include "kernels/row_shape.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// x[i] = f(x[i], y[i]).
template <class T, class F>
HWY_INLINE void update_elements(float* x, const T* y, size_t n, F f) {
  size_t i = 0;
  for (; i + width <= n; i += width)
    store_row(f(load_row(x + i), load_row(y + i)), x + i);
  if (i < n)
    store_tail(f(load_tail(x + i, n - i), load_tail(y + i, n - i)), x + i,
               n - i);
}

template <class F>
HWY_INLINE void update_row(float* x, const std::byte* y, dtype type, size_t n,
                           F f) {
  if (type == dtype::f32)
    update_elements(x, reinterpret_cast<const float*>(y), n, f);
  else
    update_elements(x, reinterpret_cast<const bf16*>(y), n, f);
}

template <class From, class To>
void convert_elements(const From* x, To* y, size_t n) {
  size_t i = 0;
  for (; i + width <= n; i += width)
    store_row(load_row(x + i), y + i);
  if (i < n)
    store_tail(load_tail(x + i, n - i), y + i, n - i);
}

/// An exponent of all ones is NaN or infinity.
template <class T>
bool finite_elements(const T* x, size_t n) {
  const hn::RebindToUnsigned<f32_tag> du;
  const auto exponent = hn::Set(du, 0x7f800000u);
  auto worst = hn::Zero(du);
  const auto look = [&](f32_vec v) {
    const auto is_full =
      hn::Eq(hn::And(hn::BitCast(du, v), exponent), exponent);
    worst = hn::Or(worst, hn::VecFromMask(du, is_full));
  };
  size_t i = 0;
  for (; i + width <= n; i += width)
    look(load_row(x + i));
  if (i < n)
    look(load_tail(x + i, n - i));
  return hn::AllTrue(du, hn::Eq(worst, hn::Zero(du)));
}

void add_row(float* x, const std::byte* y, row_shape row) {
  update_row(x, y, row.type, row.cols,
             [](f32_vec a, f32_vec b) { return hn::Add(a, b); });
}

void add_scaled_row(float* x, const std::byte* y, row_shape row, float factor) {
  const f32_tag d;
  const f32_vec scale = hn::Set(d, factor);
  update_row(x, y, row.type, row.cols,
             [=](f32_vec a, f32_vec b) { return fused(d, scale, b, a); });
}

void multiply_row(float* x, const std::byte* y, row_shape row) {
  update_row(x, y, row.type, row.cols,
             [](f32_vec a, f32_vec b) { return hn::Mul(a, b); });
}

void gate_row(float* x, const std::byte* y, row_shape row) {
  const f32_tag d;
  update_row(x, y, row.type, row.cols, [d](f32_vec a, f32_vec b) {
    return hn::Mul(a, sigmoid_f32(d, b));
  });
}

void scale_row(float* x, size_t n, float factor) {
  const f32_vec scale = hn::Set(f32_tag(), factor);
  update_elements(x, x, n,
                  [=](f32_vec a, f32_vec) { return hn::Mul(a, scale); });
}

void clip_row(float* x, size_t n, float limit) {
  const f32_vec high = hn::Set(f32_tag(), limit);
  const f32_vec low = hn::Neg(high);
  update_elements(x, x, n, [=](f32_vec a, f32_vec) {
    const f32_vec below = hn::IfThenElse(hn::Gt(a, high), high, a);
    return hn::IfThenElse(hn::Lt(below, low), low, below);
  });
}

/// f32 to bf16, or bf16 to f32.
void convert_row(const std::byte* x, dtype from, std::byte* y, size_t n) {
  if (from == dtype::f32)
    convert_elements(reinterpret_cast<const float*>(x),
                     reinterpret_cast<bf16*>(y), n);
  else
    convert_elements(reinterpret_cast<const bf16*>(x),
                     reinterpret_cast<float*>(y), n);
}

bool finite_row(const std::byte* x, dtype type, size_t n) {
  return type == dtype::f32
           ? finite_elements(reinterpret_cast<const float*>(x), n)
           : finite_elements(reinterpret_cast<const bf16*>(x), n);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/math.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::kernels {

namespace {

constexpr size_t task_elements = size_t{32} * 1024;

bool is_row_type(dtype type) {
  return type == dtype::f32 || type == dtype::bf16;
}

bool fits(matrix_view<const float> x, activation_view y) {
  return x.rows == y.rows && x.cols == y.cols && is_row_type(y.type);
}

/// Calls `fn(row)` for every row, a run of rows per task.
template <class F>
void for_rows(size_t rows, size_t cols, lanes& pool, F fn) {
  const size_t per_task =
    std::max<size_t>(1, task_elements / std::max<size_t>(1, cols));
  pool.parallel_for((rows + per_task - 1) / per_task, [&](size_t task, size_t) {
    const size_t end = std::min(rows, (task + 1) * per_task);
    for (size_t r = task * per_task; r < end; ++r)
      fn(r);
  });
}

} // namespace

void add_rows(isa level, matrix_view<float> x, activation_view y, lanes& pool) {
  TROUPE_ASSERT(fits(x, y));
  const auto add = TROUPE_SIMD_PICK(level, add_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    add(x.row(r), y.row(r), {y.type, y.cols});
  });
}

void add_scaled_rows(isa level, matrix_view<float> x, const scaled_rows& y,
                     lanes& pool) {
  TROUPE_ASSERT(fits(x, y.rows));
  const auto add = TROUPE_SIMD_PICK(level, add_scaled_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    add(x.row(r), y.rows.row(r), {y.rows.type, x.cols}, y.factor);
  });
}

void add_gated_rows(isa level, matrix_view<float> x, const gated_rows& y,
                    lanes& pool) {
  TROUPE_ASSERT(fits(x, y.rows));
  TROUPE_ASSERT(y.gates.rows == x.rows && y.gates.cols == 1);
  const auto add = TROUPE_SIMD_PICK(level, add_scaled_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    add(x.row(r), y.rows.row(r), {y.rows.type, x.cols},
        sigmoid_f32(*y.gates.row(r)));
  });
}

void add_bias(isa level, matrix_view<float> x, std::span<const float> bias,
              lanes& pool) {
  if (bias.empty())
    return;
  TROUPE_ASSERT(bias.size() == x.cols);
  // Every row is added the same one: rows at a distance of 0.
  add_rows(level, x, {bias.data(), dtype::f32, x.rows, x.cols, 0}, pool);
}

void scale_rows(isa level, matrix_view<float> x, float factor, lanes& pool) {
  const auto scale = TROUPE_SIMD_PICK(level, scale_row);
  for_rows(x.rows, x.cols, pool,
           [&](size_t r) { scale(x.row(r), x.cols, factor); });
}

void multiply_rows(isa level, matrix_view<float> x, activation_view y,
                   lanes& pool) {
  TROUPE_ASSERT(fits(x, y));
  const auto multiply = TROUPE_SIMD_PICK(level, multiply_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    multiply(x.row(r), y.row(r), {y.type, y.cols});
  });
}

void gate_rows(isa level, matrix_view<float> x, activation_view y,
               lanes& pool) {
  TROUPE_ASSERT(fits(x, y));
  const auto gate = TROUPE_SIMD_PICK(level, gate_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    gate(x.row(r), y.row(r), {y.type, y.cols});
  });
}

void clip_rows(isa level, matrix_view<float> x, float limit, lanes& pool) {
  TROUPE_ASSERT(limit >= 0);
  const auto clip = TROUPE_SIMD_PICK(level, clip_row);
  for_rows(x.rows, x.cols, pool,
           [&](size_t r) { clip(x.row(r), x.cols, limit); });
}

void convert_rows(isa level, activation_view x, output_view y, lanes& pool) {
  TROUPE_ASSERT(x.rows == y.rows && x.cols == y.cols);
  TROUPE_ASSERT(is_row_type(x.type) && is_row_type(y.type));
  const auto convert = TROUPE_SIMD_PICK(level, convert_row);
  for_rows(x.rows, x.cols, pool, [&](size_t r) {
    if (x.type == y.type)
      std::memcpy(y.row(r), x.row(r), x.cols * size_of(x.type));
    else
      convert(x.row(r), x.type, y.row(r), x.cols);
  });
}

bool all_finite(isa level, activation_view x) {
  TROUPE_ASSERT(is_row_type(x.type));
  const auto finite = TROUPE_SIMD_PICK(level, finite_row);
  for (size_t r = 0; r < x.rows; ++r)
    if (!finite(x.row(r), x.type, x.cols))
      return false;
  return true;
}

} // namespace troupe::kernels

#endif
