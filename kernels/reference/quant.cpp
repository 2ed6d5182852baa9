#include "kernels/reference/quant.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::kernels::reference {

double fp8_value(uint8_t code) {
  const int exponent = code / 8 % 16, fraction = code % 8;
  const double sign = code < 128 ? 1 : -1;
  if (exponent == 15 && fraction == 7)
    return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0)
    return sign * std::pow(2.0, -6) * fraction / 8.0;
  return sign * std::pow(2.0, exponent - 7) * (1 + fraction / 8.0);
}

double e2m1_value(uint8_t code) {
  const int exponent = code / 2 % 4, fraction = code % 2;
  const double sign = code < 8 ? 1 : -1;
  if (exponent == 0)
    return sign * 0.5 * fraction;
  return sign * std::pow(2.0, exponent - 1) * (1 + fraction / 2.0);
}

double nearest(double x, int digits) {
  if (x == 0 || !std::isfinite(x))
    return x;
  const int exponent = std::max(std::ilogb(x), -126);
  const double unit = std::ldexp(1.0, exponent - digits + 1);
  const double rounded = std::nearbyint(x / unit) * unit;
  if (std::fabs(rounded) >= std::ldexp(1.0, 128))
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return rounded;
}

double element(const quantised_view& w, size_t row, size_t col) {
  const uint8_t* codes = w.codes + row * w.codes_stride;
  if (w.format == weight_format::fp8_block) {
    const auto* scales = static_cast<const float*>(w.scales);
    return fp8_value(codes[col]) *
           double{scales[row / 128 * w.scales_stride + col / 128]};
  }
  const auto* scales = static_cast<const uint8_t*>(w.scales);
  const uint8_t pair = codes[col / 2];
  const auto code = static_cast<uint8_t>(col % 2 == 0 ? pair % 16 : pair / 16);
  const uint8_t scale = scales[row * w.scales_stride + col / 32];
  if (scale == 255)
    return std::numeric_limits<double>::quiet_NaN();
  return e2m1_value(code) * std::pow(2.0, scale - 127);
}

} // namespace troupe::kernels::reference
