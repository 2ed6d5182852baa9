// f32 with flushed denormals, computed in f64. The product of two bf16 is exact
// in f64, and f64 has more than twice the digits of f32, so that rounding the
// sum to f64 first and to f32 then gives the once-rounded result.
#include "kernels/reference/bf16_dot.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::kernels::reference {

namespace {

constexpr double normal_min = 0x1p-126;

double flushed(float x) {
  return std::fabs(double{x}) < normal_min ? std::copysign(0.0, x) : x;
}

/// Rounds to f32; what is still below the normal range after rounding (with an
/// exponent without limit, as the hardware does) becomes zero. The scaling
/// keeps all 24 digits of values that f32 would hold as denormals.
float round_flushed(double x) {
  if (!(std::fabs(x) < 0x1p-100))
    return static_cast<float>(x);
  const auto scaled = static_cast<float>(x * 0x1p64);
  if (std::fabs(scaled) < 0x1p-62f)
    return std::copysign(0.0f, scaled);
  return scaled * 0x1p-64f;
}

} // namespace

float fma_flushed(float a, float b, float c) {
  return round_flushed(flushed(a) * flushed(b) + flushed(c));
}

float add_flushed(float a, float b) {
  return round_flushed(flushed(a) + flushed(b));
}

float bf16_dot(std::span<const bf16> x, std::span<const bf16> w) {
  TROUPE_ASSERT(x.size() == w.size());
  constexpr size_t step = 32;
  float acc = 0;
  for (size_t begin = 0; begin < x.size(); begin += step) {
    std::array<float, step> xs{}, ws{};
    for (size_t i = begin; i < std::min(begin + step, x.size()); ++i) {
      xs[i - begin] = to_float(x[i]);
      ws[i - begin] = to_float(w[i]);
    }
    float even = 0, odd = 0;
    for (size_t i = 0; i < step; i += 2) {
      even = fma_flushed(xs[i], ws[i], even);
      odd = fma_flushed(xs[i + 1], ws[i + 1], odd);
    }
    acc = add_flushed(acc, add_flushed(even, odd));
  }
  return acc;
}

} // namespace troupe::kernels::reference
