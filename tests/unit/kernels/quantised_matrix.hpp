// Random quantised matrices for tests.
#pragma once

#include "kernels/quant.hpp"
#include "tests/unit/kernels/probe.hpp"

#include <bit>
#include <random>
#include <vector>

namespace troupe::kernels::test {

/// Which scales a matrix has.
enum class scales_are : uint8_t {
  ordinary,
  any, ///< Also those whose products over- or underflow, and NaN.
};

/// A matrix that owns what its view shows.
struct quantised_matrix {
  weight_format format;
  size_t rows, cols;
  std::vector<uint8_t> codes;
  std::vector<float> fp8_scales;
  std::vector<uint8_t> mxfp4_scales;

  quantised_view view() const {
    return format == weight_format::fp8_block
             ? as_fp8(codes.data(), fp8_scales.data(), rows, cols)
             : as_mxfp4(codes.data(), mxfp4_scales.data(), rows, cols);
  }
};

/// Any bits but NaN, and exponents around that of one.
inline float random_scale(std::mt19937_64& random, scales_are kind) {
  const auto fraction = static_cast<uint32_t>(random()) & 0x7fffffu;
  if (kind == scales_are::ordinary)
    return std::bit_cast<float>(
      fraction | static_cast<uint32_t>(116 + random() % 8) << 23);
  const auto exponent = static_cast<uint32_t>(random() % 255);
  const auto sign = static_cast<uint32_t>(random() % 2);
  return std::bit_cast<float>(sign << 31 | exponent << 23 | fraction);
}

inline quantised_matrix random_matrix(weight_format format, size_t rows,
                                      size_t cols, uint64_t seed,
                                      scales_are kind = scales_are::ordinary) {
  std::mt19937_64 random(seed);
  quantised_matrix m{format, rows, cols, {}, {}, {}};
  const bool is_fp8 = format == weight_format::fp8_block;
  const size_t bytes = rows * quantised_view::row_bytes(format, cols);
  for (size_t i = 0; i < bytes; ++i) {
    auto code = static_cast<uint8_t>(random());
    if (is_fp8 && (code & 0x7fu) == 0x7fu && kind == scales_are::ordinary)
      code = 0;
    m.codes.push_back(code);
  }
  const size_t row_scales = quantised_view::row_scales(format, cols);
  if (is_fp8)
    for (size_t i = 0; i < (rows + 127) / 128 * row_scales; ++i)
      m.fp8_scales.push_back(random_scale(random, kind));
  else
    for (size_t i = 0; i < rows * row_scales; ++i)
      m.mxfp4_scales.push_back(static_cast<uint8_t>(
        kind == scales_are::any ? random() : 118 + random() % 8));
  return m;
}

} // namespace troupe::kernels::test
