// The vector loop, compiled once per target.
#include "kernels/rounding.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rounding.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

void round_values(const float* values, size_t count, bf16* out) {
  size_t i = 0;
  for (; i + width <= count; i += width)
    store_row(load_row(values + i), out + i);
  for (; i < count; ++i)
    out[i] = to_bf16(values[i]);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

round_run rounding_for(isa level) {
  return TROUPE_SIMD_PICK(level, round_values);
}

} // namespace troupe::kernels
#endif
