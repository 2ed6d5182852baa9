// Double-precision exp, log, pow, sin and cos: argument reduction in two or
// three parts, then truncated series evaluated by Horner's rule with FMA.
#include "kernels/math.hpp"

#include <array>

namespace troupe::kernels {

namespace {

constexpr double ln2_high = 0x1.62e42fee00000p-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
/// Adding it to |t| < 2^51 rounds t to an integer in the low mantissa bits.
constexpr double round_magic = 6755399441055744.0;

/// c[0] + c[1] x + ... in a fixed order.
template <size_t N>
double horner(const std::array<double, N>& c, double x) {
  double y = c[N - 1];
  for (size_t i = N - 1; i-- > 0;)
    y = std::fma(y, x, c[i]);
  return y;
}

/// 1 / k! for k = first, first + step, ..., with alternating signs on request.
template <size_t N>
constexpr std::array<double, N> factorial_series(size_t first, size_t step,
                                                 double ratio_sign) {
  std::array<double, N> c{};
  double factorial = 1;
  for (size_t k = 2; k <= first; ++k)
    factorial *= static_cast<double>(k);
  double sign = 1;
  size_t at = first;
  for (size_t i = 0; i < N; ++i) {
    c[i] = sign / factorial;
    sign *= ratio_sign;
    for (size_t k = 0; k < step; ++k)
      factorial *= static_cast<double>(++at);
  }
  return c;
}

/// 2 / 1, 2 / 3, 2 / 5, ...: log((1+s)/(1-s)) = s * (c0 + c1 s^2 + ...).
template <size_t N>
constexpr std::array<double, N> odd_reciprocals() {
  std::array<double, N> c{};
  for (size_t i = 0; i < N; ++i)
    c[i] = 2.0 / static_cast<double>(2 * i + 1);
  return c;
}

/// 2^power for -1022 <= power <= 1023.
double power_of_two(int64_t power) {
  return std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52U);
}

} // namespace

double exp_f64(double x) {
  static constexpr auto series = factorial_series<13>(2, 1, 1.0);
  if (x > 709.782712893384)
    return std::numeric_limits<double>::infinity();
  if (x < -708.0)
    return 0.0;
  if (x != x)
    return x;
  const double shifted = std::fma(x, 0x1.71547652b82fep+0, round_magic);
  const double n = shifted - round_magic;
  double r = std::fma(n, -ln2_high, x);
  r = std::fma(n, -ln2_low, r);
  const double p = std::fma(r * r, horner(series, r), r) + 1.0;
  const auto power = static_cast<int64_t>(n);
  const int64_t half = power >> 1;
  return p * power_of_two(half) * power_of_two(power - half);
}

double log_f64(double x) {
  static constexpr auto series = odd_reciprocals<12>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (x != x || x == infinity)
    return x;
  if (std::bit_cast<int64_t>(x) < 0 && x <= -std::numeric_limits<double>::min())
    return std::numeric_limits<double>::quiet_NaN();
  if (x < std::numeric_limits<double>::min())
    return -infinity;
  // x = 2^n * m with sqrt(1/2) <= m < sqrt(2): then |s| <= 0.1716.
  const auto bits = std::bit_cast<uint64_t>(x);
  auto n = static_cast<int64_t>(bits >> 52U) - 1023;
  double m =
    std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++n;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const auto exponent = static_cast<double>(n);
  const double fraction = s * horner(series, s * s);
  return std::fma(exponent, ln2_high, std::fma(exponent, ln2_low, fraction));
}

double pow_f64(double base, double exponent) {
  return exp_f64(exponent * log_f64(base));
}

sin_cos sin_cos_f64(double angle) {
  static constexpr auto sine = factorial_series<8>(3, 2, -1.0);
  static constexpr auto cosine = factorial_series<8>(4, 2, -1.0);
  constexpr double angle_max = 0x1p21;
  if (!(angle >= -angle_max && angle <= angle_max)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  // pi / 2 in three parts of at most 53 bits: what is left is below 2^-100.
  const double shifted = std::fma(angle, 0x1.45f306dc9c883p-1, round_magic);
  const double n = shifted - round_magic;
  double r = std::fma(n, -0x1.921fb54400000p+0, angle);
  r = std::fma(n, -0x1.0b4611a600000p-34, r);
  r = std::fma(n, -0x1.3198a2e037073p-69, r);
  const double z = r * r;
  const double s = std::fma(z * -r, horner(sine, z), r);
  const double c = std::fma(z * z, horner(cosine, z), 1.0 - 0.5 * z);
  switch (static_cast<int64_t>(n) & 3) {
  case 0:
    return {s, c};
  case 1:
    return {c, -s};
  case 2:
    return {-s, -c};
  default:
    return {-c, s};
  }
}

} // namespace troupe::kernels
