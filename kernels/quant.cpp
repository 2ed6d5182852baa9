// Exact values by integers (threads that compute flush denormals, also those of
// a conversion), and rows by the vector loops where scales are ordinary.
#include "kernels/quant.hpp"

#include "kernels/quant_simd.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

namespace troupe::kernels {

namespace {

constexpr unsigned f32_fraction_bits = 23, bf16_fraction_bits = 7;
constexpr int exponent_bias = 127;

/// `x` with 8 bits of exponent and `fraction_bits` of fraction, to nearest
/// even. @pre `x` has no denormal bits of its own (f64 is far wider).
uint32_t round_bits(double x, unsigned fraction_bits) {
  const auto bits = std::bit_cast<uint64_t>(x);
  const auto sign = static_cast<uint32_t>(bits >> 63) << (fraction_bits + 8u);
  const uint32_t infinity = 255u << fraction_bits;
  if (std::isnan(x))
    return sign | infinity | 1u << (fraction_bits - 1u);
  if (std::isinf(x))
    return sign | infinity;
  if (x == 0)
    return sign;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ffu) - 1023;
  const uint64_t all = (bits & 0xfffffffffffffu) | 1ull << 52;
  const int base = std::max(exponent, 1 - exponent_bias);
  const int dropped = base - exponent + 52 - static_cast<int>(fraction_bits);
  if (dropped > 54)
    return sign;
  const uint64_t half = 1ull << (dropped - 1), kept = all >> dropped;
  const uint64_t rest = all & (2 * half - 1);
  const uint64_t up = rest > half || (rest == half && kept % 2 == 1) ? 1 : 0;
  // A leading one adds 1 to the exponent: that of denormals is one less.
  const auto field = static_cast<uint64_t>(base + exponent_bias - 1);
  const uint64_t rounded = (field << fraction_bits) + kept + up;
  return sign | static_cast<uint32_t>(std::min<uint64_t>(rounded, infinity));
}

/// The exact value, also of a denormal.
double exact(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000u) != 0)
    return static_cast<double>(x);
  const double magnitude = static_cast<double>(bits & 0x7fffffu) * 0x1p-149;
  return bits >> 31 != 0 ? -magnitude : magnitude;
}

double fp8_number(uint8_t code) {
  if ((code & 0x7fu) == 0x7fu)
    return std::nan("");
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double magnitude =
    exponent == 0 ? fraction * 0x1p-9 : std::ldexp(8 + fraction, exponent - 10);
  return (code & 0x80u) != 0 ? -magnitude : magnitude;
}

double mxfp4_value(uint8_t code, uint8_t scale) {
  constexpr std::array<double, 8> magnitudes{0, .5, 1, 1.5, 2, 3, 4, 6};
  TROUPE_ASSERT(code < 16);
  if (scale == 255)
    return std::nan("");
  const double magnitude = std::ldexp(magnitudes[code & 7u], scale - 127);
  return (code & 8u) != 0 ? -magnitude : magnitude;
}

uint8_t mxfp4_code(const uint8_t* codes, size_t i) {
  const uint8_t pair = codes[i / 2];
  return static_cast<uint8_t>(i % 2 == 0 ? pair & 15u : pair >> 4u);
}

/// `count` elements of one FP8 scale.
void expand_fp8(const quant_loops& loops, const uint8_t* codes, float scale,
                std::span<float> out) {
  if (is_ordinary_fp8(scale))
    return loops.fp8_to_f32(codes, scale, out.size(), out.data());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::bit_cast<float>(fp8_value_f32(codes[i], scale));
}

void expand_fp8(const quant_loops& loops, const uint8_t* codes, float scale,
                std::span<bf16> out) {
  if (is_ordinary_fp8(scale))
    return loops.fp8_to_bf16(codes, make_fp8_table(scale), out.size(),
                             out.data());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = fp8_value_bf16(codes[i], scale);
}

/// Up to 32 elements of one MXFP4 scale.
void expand_mxfp4(const quant_loops& loops, const uint8_t* codes, uint8_t scale,
                  std::span<float> out) {
  if (is_ordinary_mxfp4(scale) && out.size() == mxfp4_block_size)
    return loops.mxfp4_to_f32(
      codes, std::bit_cast<float>(uint32_t{scale} << f32_fraction_bits),
      out.data());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::bit_cast<float>(mxfp4_value_f32(mxfp4_code(codes, i), scale));
}

/// Values in the normal range fit into bf16: no rounding to think of.
void expand_mxfp4(const quant_loops& loops, const uint8_t* codes, uint8_t scale,
                  std::span<bf16> out) {
  std::array<float, mxfp4_block_size> wide{};
  if (is_ordinary_mxfp4(scale) && out.size() == mxfp4_block_size) {
    expand_mxfp4(loops, codes, scale, std::span<float>(wide));
    std::ranges::transform(wide, out.begin(), to_bf16);
    return;
  }
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = mxfp4_value_bf16(mxfp4_code(codes, i), scale);
}

template <class T>
void expand_columns(isa level, const quantised_view& w, size_t row,
                    size_t column, std::span<T> out) {
  TROUPE_ASSERT(row < w.rows && column % mxfp4_block_size == 0 &&
                column + out.size() <= w.cols);
  const auto& loops = quant_loops_for(level);
  const auto* codes = w.codes + row * w.codes_stride;
  for (size_t done = 0; done < out.size();) {
    const size_t at = column + done;
    if (w.format == weight_format::fp8_block) {
      const size_t count =
        std::min(fp8_block_size - at % fp8_block_size, out.size() - done);
      const auto* scales = static_cast<const float*>(w.scales);
      expand_fp8(
        loops, codes + at,
        scales[row / fp8_block_size * w.scales_stride + at / fp8_block_size],
        out.subspan(done, count));
      done += count;
    } else {
      const size_t count = std::min(mxfp4_block_size, out.size() - done);
      const auto* scales = static_cast<const uint8_t*>(w.scales);
      expand_mxfp4(loops, codes + at / 2,
                   scales[row * w.scales_stride + at / mxfp4_block_size],
                   out.subspan(done, count));
      done += count;
    }
  }
}

} // namespace

std::string_view to_string(weight_format format) {
  switch (format) {
  case weight_format::plain:
    return "plain";
  case weight_format::fp8_block:
    return "fp8_block";
  case weight_format::mxfp4:
    return "mxfp4";
  }
  return "?";
}

size_t quantised_view::row_bytes(weight_format format, size_t cols) {
  TROUPE_ASSERT(format != weight_format::plain);
  if (format == weight_format::fp8_block)
    return cols;
  return (cols + mxfp4_block_size - 1) / mxfp4_block_size * mxfp4_block_bytes;
}

size_t quantised_view::row_scales(weight_format format, size_t cols) {
  TROUPE_ASSERT(format != weight_format::plain);
  const size_t block =
    format == weight_format::fp8_block ? fp8_block_size : mxfp4_block_size;
  return (cols + block - 1) / block;
}

quantised_view as_fp8(const uint8_t* codes, const float* scales, size_t rows,
                      size_t cols) {
  constexpr auto format = weight_format::fp8_block;
  return {format,
          rows,
          cols,
          codes,
          cols,
          scales,
          quantised_view::row_scales(format, cols)};
}

quantised_view as_mxfp4(const uint8_t* codes, const uint8_t* scales,
                        size_t rows, size_t cols) {
  constexpr auto format = weight_format::mxfp4;
  return {format,
          rows,
          cols,
          codes,
          quantised_view::row_bytes(format, cols),
          scales,
          quantised_view::row_scales(format, cols)};
}

uint32_t fp8_value_f32(uint8_t code, float scale) {
  return round_bits(fp8_number(code) * exact(scale), f32_fraction_bits);
}

bf16 fp8_value_bf16(uint8_t code, float scale) {
  return {static_cast<uint16_t>(
    round_bits(fp8_number(code) * exact(scale), bf16_fraction_bits))};
}

uint32_t mxfp4_value_f32(uint8_t code, uint8_t scale) {
  return round_bits(mxfp4_value(code, scale), f32_fraction_bits);
}

bf16 mxfp4_value_bf16(uint8_t code, uint8_t scale) {
  return {static_cast<uint16_t>(
    round_bits(mxfp4_value(code, scale), bf16_fraction_bits))};
}

fp8_table make_fp8_table(float scale) {
  fp8_table out{};
  for (uint8_t i = 0; i < 8; ++i) {
    const auto lowest = static_cast<uint8_t>(8u + i); // exponent 1
    out.normal[i] = static_cast<uint16_t>(fp8_value_bf16(lowest, scale).bits -
                                          (1u << bf16_fraction_bits));
    out.denormal[i] = fp8_value_bf16(i, scale).bits;
  }
  return out;
}

void expand_row(isa level, const quantised_view& w, size_t row, size_t column,
                std::span<float> out) {
  expand_columns(level, w, row, column, out);
}

void expand_row(isa level, const quantised_view& w, size_t row, size_t column,
                std::span<bf16> out) {
  expand_columns(level, w, row, column, out);
}

void expand(isa level, const quantised_view& w, output_view out) {
  TROUPE_ASSERT(out.rows == w.rows && out.cols == w.cols);
  TROUPE_ASSERT(out.type == dtype::f32 || out.type == dtype::bf16);
  for (size_t row = 0; row < w.rows; ++row) {
    auto* to = out.row(row);
    if (out.type == dtype::f32)
      expand_row(level, w, row, 0,
                 std::span(reinterpret_cast<float*>(to), w.cols));
    else
      expand_row(level, w, row, 0,
                 std::span(reinterpret_cast<bf16*>(to), w.cols));
  }
}

} // namespace troupe::kernels
