// The weighted sum of replies: per element one chain of fused multiply-adds
// over j, so vectors run along H and the order is the same everywhere.
#include "kernels/combine.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/combine.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// Where row `j` of a row's replies lies; the element type is in `T`.
template <class T>
struct replies {
  const std::byte* const* rows;

  const T* operator[](size_t j) const {
    return reinterpret_cast<const T*>(rows[j]);
  }
};

template <class T>
void combine_elements(replies<T> pairs, std::span<const float> weights,
                      bool add, std::span<float> y) {
  const f32_tag d;
  const size_t n = y.size();
  for (size_t i = 0; i < n; i += width) {
    const size_t rest = n - i;
    const auto load = [rest](const auto* x) {
      return rest >= width ? load_row(x) : load_tail(x, rest);
    };
    f32_vec sum = hn::Zero(d);
    for (size_t j = 0; j < weights.size(); ++j)
      sum = fused(d, hn::Set(d, weights[j]), load(pairs[j] + i), sum);
    float* out = y.data() + i;
    if (add)
      sum = hn::Add(load(out), sum);
    if (rest >= width)
      store_row(sum, out);
    else
      store_tail(sum, out, rest);
  }
}

/// One row: y = sum over j of weights[j] * pairs row j, or added to y.
void combine_row(const std::byte* const* pairs, dtype type,
                 std::span<const float> weights, bool add, std::span<float> y) {
  if (type == dtype::f32)
    combine_elements(replies<float>{pairs}, weights, add, y);
  else
    combine_elements(replies<bf16>{pairs}, weights, add, y);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <vector>

namespace troupe::kernels {

namespace {

constexpr size_t task_elements = size_t{16} * 1024;

} // namespace

void combine(const combine_options& options, activation_view pairs,
             matrix_view<const float> weights, matrix_view<float> y,
             lanes& pool) {
  TROUPE_ASSERT(pairs.cols == y.cols);
  std::vector<const std::byte*> rows(pairs.rows);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = pairs.row(i);
  combine(options, rows, pairs.type, weights, y, pool);
}

void combine(const combine_options& options,
             std::span<const std::byte* const> pairs, dtype type,
             matrix_view<const float> weights, matrix_view<float> y,
             lanes& pool) {
  const size_t k = weights.cols;
  TROUPE_ASSERT(weights.rows == y.rows && pairs.size() == y.rows * k);
  TROUPE_ASSERT(y.cols > 0);
  TROUPE_ASSERT(type == dtype::f32 || type == dtype::bf16);
  const auto one = TROUPE_SIMD_PICK(options.isa, combine_row);
  const bool add = options.into == combine_into::add;
  const size_t per_task =
    std::max<size_t>(1, task_elements / ((k + 1) * y.cols));
  const size_t tasks = (y.rows + per_task - 1) / per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t) {
    const size_t end = std::min(y.rows, (task + 1) * per_task);
    for (size_t r = task * per_task; r < end; ++r)
      one(pairs.data() + r * k, type, {weights.row(r), k}, add,
          {y.row(r), y.cols});
  });
}

} // namespace troupe::kernels

#endif
