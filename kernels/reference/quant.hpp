// Quantised elements by the formulas of their formats (kernels/quant.hpp).
#pragma once

#include "kernels/quant.hpp"

namespace troupe::kernels::reference {

/// sign * 2^(exponent - 7) * (1 + fraction / 8), or of a denormal.
double fp8_value(uint8_t code);

/// The element `code` < 16 of an MXFP4 block, before its scale.
double e2m1_value(uint8_t code);

/// The nearest value with `digits` binary digits in f32's range of exponents,
/// ties to even; 24: f32, 8: bf16.
double nearest(double x, int digits);

/// W[row, col], exact but for f64.
double element(const quantised_view& w, size_t row, size_t col);

} // namespace troupe::kernels::reference
