// See softmax_weights.hpp. Element by element; no reduction.
#include "kernels/softmax_weights.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax_weights.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

void weigh(std::span<const float> logits, float best, float temperature,
           float* weights) {
  const f32_tag d;
  const auto of = [&](f32_vec x) {
    const auto above = hn::Sub(x, hn::Set(d, best));
    return exp_f32(d, hn::Div(above, hn::Set(d, temperature)));
  };
  const size_t n = logits.size();
  size_t i = 0;
  for (; i + width <= n; i += width)
    store_row(of(load_row(logits.data() + i)), weights + i);
  if (i < n)
    store_tail(of(load_tail(logits.data() + i, n - i)), weights + i, n - i);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "runtime/assert.hpp"

namespace troupe::kernels {

void softmax_weights(isa level, std::span<const float> logits, float best,
                     float temperature, std::span<float> weights) {
  TROUPE_ASSERT(logits.size() == weights.size() && temperature > 0);
  TROUPE_SIMD_PICK(level, weigh)(logits, best, temperature, weights.data());
}

} // namespace troupe::kernels

#endif
