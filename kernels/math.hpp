// Elementary functions whose bits do not depend on the CPU, the C library or
// the vector width: IEEE +, -, *, / and fused multiply-add in a fixed order.
// kernels/math-inl.hpp holds vector twins of the f32 forms with equal bits.
// Results below the smallest normal number are zero, so that FTZ/DAZ changes
// nothing.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe::kernels {

/// Constants of `exp_f32`, shared by its scalar and its vector form.
/// The polynomial is a Chebyshev fit of (e^r - 1 - r) / r^2, |r| <= ln(2) / 2.
namespace exp_constants {
inline constexpr float log2e = 0x1.715476p+0F;
inline constexpr float ln2_high = 0x1.62e43p-1F;
inline constexpr float ln2_low = -0x1.05c61p-29F;
/// Adding it to |t| < 2^22 rounds t to an integer in the low mantissa bits.
inline constexpr float round_magic = 12582912.0F;
inline constexpr float overflow_above = 88.72283F;
inline constexpr float zero_below = -87.3F;
inline constexpr float q5 = 0.000198910306544F;
inline constexpr float q4 = 0.00139336858626F;
inline constexpr float q3 = 0.00833331088958F;
inline constexpr float q2 = 0.041666464602F;
inline constexpr float q1 = 0.166666666817F;
inline constexpr float q0 = 0.5F;
} // namespace exp_constants

/// e^x, within 1 ulp. +inf above 88.72283, 0 below -87.3, 1 at 0; NaN stays.
inline float exp_f32(float x) {
  using namespace exp_constants;
  if (x > overflow_above)
    return std::numeric_limits<float>::infinity();
  if (x < zero_below)
    return 0.0F;
  const float shifted = std::fma(x, log2e, round_magic);
  const float n = shifted - round_magic;
  float r = std::fma(n, -ln2_high, x);
  r = std::fma(n, -ln2_low, r);
  float q = std::fma(q5, r, q4);
  q = std::fma(q, r, q3);
  q = std::fma(q, r, q2);
  q = std::fma(q, r, q1);
  q = std::fma(q, r, q0);
  const float p = std::fma(r * r, q, r) + 1.0F;
  // 2^128 is no float: scale by two halves of the exponent.
  const auto power = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) -
                                          std::bit_cast<uint32_t>(round_magic));
  const int32_t half = power >> 1;
  const auto scale = [](int32_t e) {
    return std::bit_cast<float>((static_cast<uint32_t>(e) + 127U) << 23U);
  };
  return p * scale(half) * scale(power - half);
}

/// 1 / (1 + e^-x).
inline float sigmoid_f32(float x) {
  return 1.0F / (1.0F + exp_f32(-x));
}

/// x * sigmoid(x), as x / (1 + e^-x).
inline float silu_f32(float x) {
  return x / (1.0F + exp_f32(-x));
}

/// Constants of `softplus_f32`: log((1 + s) / (1 - s)) = 2 s (1 + s^2 / 3 +
/// ...).
namespace softplus_constants {
inline constexpr float c7 = 1.0F / 15.0F;
inline constexpr float c6 = 1.0F / 13.0F;
inline constexpr float c5 = 1.0F / 11.0F;
inline constexpr float c4 = 1.0F / 9.0F;
inline constexpr float c3 = 1.0F / 7.0F;
inline constexpr float c2 = 1.0F / 5.0F;
inline constexpr float c1 = 1.0F / 3.0F;
} // namespace softplus_constants

/// ln(1 + e^x), within 3 ulp: max(x, 0) + ln(1 + e^-|x|). 0 below -87.3; NaN
/// stays.
inline float softplus_f32(float x) {
  using namespace softplus_constants;
  const float u = exp_f32(x > 0.0F ? -x : x);
  const float s = u / (2.0F + u);
  const float z = s * s;
  float p = std::fma(c7, z, c6);
  p = std::fma(p, z, c5);
  p = std::fma(p, z, c4);
  p = std::fma(p, z, c3);
  p = std::fma(p, z, c2);
  p = std::fma(p, z, c1);
  const float twice = s + s;
  return (x > 0.0F ? x : 0.0F) + std::fma(twice * z, p, twice);
}

/// e^x within 2 ulp. +inf above 709.78, 0 below -708; NaN stays.
double exp_f64(double x);

/// Natural logarithm within 2 ulp. -inf at 0 and for subnormal x, NaN below 0.
double log_f64(double x);

/// base^exponent as e^(exponent * ln base). @pre base > 0.
double pow_f64(double base, double exponent);

/// Sine and cosine of one angle.
struct sin_cos {
  double sin = 0;
  double cos = 1;
};

/// sin and cos of `angle` in radians, absolute error below 1e-15 for
/// |angle| <= 2^21. Larger, infinite and NaN angles give NaN.
sin_cos sin_cos_f64(double angle);

} // namespace troupe::kernels
