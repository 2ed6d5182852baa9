// The vector forms of exp, sigmoid, silu and softplus have the bits of the
// scalar ones, on every ISA, over all exponents and the special values.
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/kernels/math_simd_test.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// n is a multiple of 16.
void exp_all(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(exp_f32(f32_tag(), load_row(x + i)), y + i);
}

void sigmoid_all(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(sigmoid_f32(f32_tag(), load_row(x + i)), y + i);
}

void silu_all(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(silu_f32(f32_tag(), load_row(x + i)), y + i);
}

void softplus_all(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(softplus_f32(f32_tag(), load_row(x + i)), y + i);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "row_support.hpp"

namespace troupe::kernels {

namespace {

using all_fn = void (*)(const float*, float*, size_t);

all_fn exp_of(isa level) {
  return TROUPE_SIMD_PICK(level, exp_all);
}

all_fn sigmoid_of(isa level) {
  return TROUPE_SIMD_PICK(level, sigmoid_all);
}

all_fn silu_of(isa level) {
  return TROUPE_SIMD_PICK(level, silu_all);
}

all_fn softplus_of(isa level) {
  return TROUPE_SIMD_PICK(level, softplus_all);
}

/// Every 4099th f32 there is, NaNs and infinities included: 2^20 of them.
std::vector<float> floats_of_all_kinds() {
  std::vector<float> x;
  for (uint32_t i = 0; i < (1u << 20); ++i)
    x.push_back(std::bit_cast<float>(i * 4099u));
  x.back() = std::numeric_limits<float>::infinity();
  x.front() = -std::numeric_limits<float>::infinity();
  return x;
}

void compare(all_fn (*vector_form)(isa), float (*scalar_form)(float)) {
  const flush_denormals_scope flush;
  const auto x = floats_of_all_kinds();
  std::vector<float> want;
  for (const float v : x)
    want.push_back(scalar_form(v));
  for (const isa level : test::all_isas()) {
    std::vector<float> y(x.size());
    vector_form(level)(x.data(), y.data(), x.size());
    BOOST_TEST(test::differing(y, want) == 0, to_string(level));
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(math_simd)

BOOST_AUTO_TEST_CASE(vector_exp_has_the_bits_of_the_scalar_one) {
  compare(exp_of, [](float x) { return exp_f32(x); });
}

BOOST_AUTO_TEST_CASE(vector_sigmoid_has_the_bits_of_the_scalar_one) {
  compare(sigmoid_of, [](float x) { return sigmoid_f32(x); });
}

BOOST_AUTO_TEST_CASE(vector_silu_has_the_bits_of_the_scalar_one) {
  compare(silu_of, [](float x) { return silu_f32(x); });
}

BOOST_AUTO_TEST_CASE(vector_softplus_has_the_bits_of_the_scalar_one) {
  compare(softplus_of, [](float x) { return softplus_f32(x); });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::kernels

#endif
