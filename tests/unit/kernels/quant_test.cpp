// Every code of the quantised formats against their formulas, and rows by every
// ISA against single elements.
#include "kernels/quant.hpp"

#include "kernels/reference/quant.hpp"
#include "tests/unit/kernels/quantised_matrix.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

constexpr weight_format formats[] = {weight_format::fp8_block,
                                     weight_format::mxfp4};

uint32_t f32_bits(double x) {
  return std::bit_cast<uint32_t>(static_cast<float>(x));
}

/// Bits of a value that fits in bf16.
uint32_t bf16_bits(double x) {
  return f32_bits(x) >> 16;
}

std::vector<float> odd_scales() {
  using limits = std::numeric_limits<float>;
  std::vector<float> all{0.0f,
                         -0.0f,
                         1.0f,
                         -1.5f,
                         0x1p-117f,
                         0x1.fp-118f,
                         0x1p118f,
                         0x1.8p118f,
                         0x1p-126f,
                         0x1.555p-130f,
                         0x1p-149f,
                         limits::max(),
                         limits::infinity()};
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i)
    all.push_back(random_scale(random, scales_are::any));
  for (int i = 0; i < 100; ++i)
    all.push_back(random_scale(random, scales_are::ordinary));
  return all;
}

/// Whether `code * scale` is as the formula says, in both types.
bool is_fp8_right(uint8_t code, float scale, uint32_t wide, bf16 narrow) {
  const double x = reference::fp8_value(code) * double{scale};
  if (std::isnan(x))
    return std::isnan(std::bit_cast<float>(wide)) &&
           std::isnan(to_float(narrow));
  return wide == f32_bits(reference::nearest(x, 24)) &&
         narrow.bits == bf16_bits(reference::nearest(x, 8));
}

/// W[row, col] as the formula says, rounded to `digits`.
float expected_element(const quantised_view& w, size_t row, size_t col,
                       int digits) {
  return static_cast<float>(
    reference::nearest(reference::element(w, row, col), digits));
}

std::vector<float> all_expected(const quantised_view& w, int digits) {
  std::vector<float> out;
  for (size_t row = 0; row < w.rows; ++row)
    for (size_t col = 0; col < w.cols; ++col)
      out.push_back(expected_element(w, row, col, digits));
  return out;
}

std::vector<float> expanded_f32(isa level, const quantised_view& w) {
  std::vector<float> out(w.rows * w.cols);
  expand(level, w, as_output(out.data(), w.rows, w.cols));
  return out;
}

std::vector<float> expanded_bf16(isa level, const quantised_view& w) {
  std::vector<bf16> narrow(w.rows * w.cols);
  expand(level, w, as_output(narrow.data(), w.rows, w.cols));
  std::vector<float> out;
  for (const auto x : narrow)
    out.push_back(to_float(x));
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(quant_test)

BOOST_AUTO_TEST_CASE(every_fp8_code_has_the_value_of_the_format) {
  // Spot values by hand, so that formula and code cannot err alike.
  BOOST_TEST(fp8_value_f32(0x00, 1) == f32_bits(0.0));
  BOOST_TEST(fp8_value_f32(0x80, 1) == f32_bits(-0.0));
  BOOST_TEST(fp8_value_f32(0x01, 1) == f32_bits(0.001953125));
  BOOST_TEST(fp8_value_f32(0x07, 1) == f32_bits(0.013671875));
  BOOST_TEST(fp8_value_f32(0x08, 1) == f32_bits(0.015625));
  BOOST_TEST(fp8_value_f32(0x38, 1) == f32_bits(1.0));
  BOOST_TEST(fp8_value_f32(0xb9, 1) == f32_bits(-1.125));
  BOOST_TEST(fp8_value_f32(0x7e, 1) == f32_bits(448.0));
  BOOST_TEST(std::isnan(std::bit_cast<float>(fp8_value_f32(0x7f, 1))));
  BOOST_TEST(std::isnan(std::bit_cast<float>(fp8_value_f32(0xff, 1))));
  for (const float scale : odd_scales())
    for (unsigned i = 0; i < 256; ++i) {
      const auto code = static_cast<uint8_t>(i);
      BOOST_TEST(is_fp8_right(code, scale, fp8_value_f32(code, scale),
                              fp8_value_bf16(code, scale)),
                 "code " << i << " scale " << scale);
    }
}

BOOST_AUTO_TEST_CASE(threads_that_flush_denormals_expand_to_the_same_bits) {
  const auto scales = odd_scales();
  std::vector<uint32_t> wide;
  std::vector<bf16> narrow;
  {
    const flush_denormals_scope flush;
    for (const float scale : scales)
      for (unsigned i = 0; i < 256; ++i) {
        wide.push_back(fp8_value_f32(static_cast<uint8_t>(i), scale));
        narrow.push_back(fp8_value_bf16(static_cast<uint8_t>(i), scale));
      }
  }
  size_t at = 0;
  for (const float scale : scales)
    for (unsigned i = 0; i < 256; ++i, ++at)
      BOOST_TEST(
        is_fp8_right(static_cast<uint8_t>(i), scale, wide[at], narrow[at]),
        "code " << i << " scale " << scale);
}

BOOST_AUTO_TEST_CASE(an_fp8_product_is_rounded_once) {
  // Products that lie so near to the middle of two bf16 that their f32 is it.
  size_t differing = 0;
  for (uint32_t low = 0; low < 1u << 20; ++low) {
    const auto scale = std::bit_cast<float>(0x3f800000u | low);
    const double product = reference::fp8_value(0x3b) * double{scale};
    const auto twice = to_bf16(static_cast<float>(product));
    const auto once = fp8_value_bf16(0x3b, scale);
    BOOST_REQUIRE(once.bits == bf16_bits(reference::nearest(product, 8)));
    differing += twice == once ? 0u : 1u;
  }
  BOOST_TEST(differing > 0u);
}

BOOST_AUTO_TEST_CASE(every_mxfp4_code_and_scale_has_the_value_of_the_format) {
  constexpr double magnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  for (unsigned i = 0; i < 16; ++i) {
    const auto code = static_cast<uint8_t>(i);
    const double value = (i < 8 ? 1 : -1) * magnitudes[i % 8];
    BOOST_TEST(mxfp4_value_f32(code, 127) == f32_bits(value));
    for (unsigned scale = 0; scale < 255; ++scale) {
      const auto s = static_cast<uint8_t>(scale);
      const double x = std::ldexp(value, static_cast<int>(scale) - 127);
      BOOST_TEST(mxfp4_value_f32(code, s) ==
                 f32_bits(reference::nearest(x, 24)));
      BOOST_TEST(mxfp4_value_bf16(code, s).bits ==
                 bf16_bits(reference::nearest(x, 8)));
    }
    BOOST_TEST(std::isnan(to_float(mxfp4_value_bf16(code, 255))));
  }
}

BOOST_AUTO_TEST_CASE(rows_of_any_shape_have_the_bits_of_their_elements) {
  const uint64_t seed = 21;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 24; ++trial) {
    const size_t rows = 1 + random() % 150, cols = 1 + random() % 300;
    const auto kind = trial % 3 == 0 ? scales_are::any : scales_are::ordinary;
    for (const auto format : formats) {
      const auto m = random_matrix(format, rows, cols, random(), kind);
      const auto wide = all_expected(m.view(), 24);
      const auto narrow = all_expected(m.view(), 8);
      for (const auto level : all_isas()) {
        const auto where = [&] {
          return std::string(to_string(format)) + " on " +
                 std::string(to_string(level));
        };
        const flush_denormals_scope flush;
        BOOST_TEST(same_bits(expanded_f32(level, m.view()), wide), where());
        BOOST_TEST(same_bits(expanded_bf16(level, m.view()), narrow), where());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(all_codes_of_ordinary_scales_agree_on_every_isa) {
  quantised_matrix m{weight_format::fp8_block, 1, 256, {}, {}, {}};
  for (unsigned i = 0; i < 256; ++i)
    m.codes.push_back(static_cast<uint8_t>(i));
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 100; ++trial) {
    m.fp8_scales.assign(2, random_scale(random, scales_are::ordinary));
    for (const auto level : all_isas()) {
      BOOST_TEST(
        same_bits(expanded_f32(level, m.view()), all_expected(m.view(), 24)));
      BOOST_TEST(
        same_bits(expanded_bf16(level, m.view()), all_expected(m.view(), 8)));
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_may_lie_apart) {
  // Every second row: how some checkpoints keep two matrices in one.
  const auto m = random_matrix(weight_format::mxfp4, 10, 96, 4);
  auto odd = m.view();
  odd.rows = 5;
  odd.codes += odd.codes_stride;
  odd.scales = m.mxfp4_scales.data() + odd.scales_stride;
  odd.codes_stride *= 2;
  odd.scales_stride *= 2;
  const auto all = expanded_f32(best_isa(), m.view());
  const auto some = expanded_f32(best_isa(), odd);
  for (size_t row = 0; row < 5; ++row)
    BOOST_TEST(same_bits(std::span(some).subspan(row * 96, 96),
                         std::span(all).subspan((2 * row + 1) * 96, 96)));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_row_can_be_expanded) {
  for (const auto format : formats) {
    const auto m = random_matrix(format, 3, 400, 9);
    const auto all = expanded_f32(best_isa(), m.view());
    std::vector<float> part(130);
    expand_row(best_isa(), m.view(), 2, 96, std::span(part));
    BOOST_TEST(same_bits(part, std::span(all).subspan(2 * 400 + 96, 130)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
