// Residual sums, gates, multipliers, change of type and the check for NaN and
// infinity, on every ISA and for lengths that are no multiple of a vector.
#include "kernels/elementwise.hpp"

#include "kernels/math.hpp"
#include "row_support.hpp"

#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(elementwise)

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

} // namespace

BOOST_AUTO_TEST_CASE(rows_are_added_in_both_types) {
  random_rows random(21);
  lanes pool({.count = 1});
  for (const isa level : all_isas())
    for (const size_t n : {1u, 15u, 16u, 33u, 2048u}) {
      const auto x = random.normal(5 * n);
      const auto y = random.normal(5 * n);
      const auto y_bf16 = rounded(y);
      auto sum = x;
      auto sum_bf16 = x;
      add_rows(level, rows_of(sum, n), as_activation(y.data(), 5, n), pool);
      add_rows(level, rows_of(sum_bf16, n), as_activation(y_bf16.data(), 5, n),
               pool);
      for (size_t i = 0; i < x.size(); ++i) {
        BOOST_REQUIRE(same_bits(sum[i], x[i] + y[i]));
        BOOST_REQUIRE(same_bits(sum_bf16[i], x[i] + to_float(y_bf16[i])));
      }
    }
}

namespace {

/// Runs `kernel(level, x, y, pool)` on 5 rows with f32 and with bf16 operands,
/// and compares with `want(x, y, row, column)`.
template <class Kernel, class Want>
void check_rows(uint32_t seed, Kernel kernel, Want want) {
  random_rows random(seed);
  const flush_denormals_scope flush;
  lanes pool({.count = 1});
  for (const isa level : all_isas())
    for (const size_t n : {1u, 15u, 16u, 33u, 2048u}) {
      const auto x = random.normal(5 * n);
      const auto y = random.normal(5 * n, 3.0f);
      const auto y_bf16 = rounded(y);
      auto got = x;
      auto got_bf16 = x;
      kernel(level, rows_of(got, n), as_activation(y.data(), 5, n), pool);
      kernel(level, rows_of(got_bf16, n), as_activation(y_bf16.data(), 5, n),
             pool);
      for (size_t i = 0; i < x.size(); ++i) {
        BOOST_REQUIRE(same_bits(got[i], want(x[i], y[i], i / n, i % n)));
        const float rounded_y = to_float(y_bf16[i]);
        BOOST_REQUIRE(
          same_bits(got_bf16[i], want(x[i], rounded_y, i / n, i % n)));
      }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(scaled_rows_are_added_with_one_rounding) {
  check_rows(
    23,
    [](isa level, auto x, auto y, lanes& pool) {
      add_scaled_rows(level, x, {y, 0.22f}, pool);
    },
    [](float x, float y, size_t, size_t) { return std::fma(0.22f, y, x); });
  check_rows(
    24,
    [](isa level, auto x, auto y, lanes& pool) {
      add_scaled_rows(level, x, {y, 1.0f}, pool);
    },
    [](float x, float y, size_t, size_t) { return x + y; });
}

BOOST_AUTO_TEST_CASE(each_row_is_added_by_the_sigmoid_of_its_gate) {
  // The gates lie in a wider matrix, as columns of another product do.
  const std::vector<float> gates{-3.0f, 0, 0.0f, 0, 1.5f, 0, -90.0f, 0, 90.0f};
  check_rows(
    25,
    [&](isa level, auto x, auto y, lanes& pool) {
      add_gated_rows(level, x, {y, {gates.data(), 5, 1, 2}}, pool);
    },
    [&](float x, float y, size_t row, size_t) {
      return std::fma(sigmoid_f32(gates[2 * row]), y, x);
    });
}

BOOST_AUTO_TEST_CASE(rows_are_multiplied_and_gated_element_by_element) {
  check_rows(
    26,
    [](isa level, auto x, auto y, lanes& pool) {
      multiply_rows(level, x, y, pool);
    },
    [](float x, float y, size_t, size_t) { return x * y; });
  check_rows(
    27,
    [](isa level, auto x, auto y, lanes& pool) {
      gate_rows(level, x, y, pool);
    },
    [](float x, float y, size_t, size_t) { return x * sigmoid_f32(y); });
}

BOOST_AUTO_TEST_CASE(a_bias_and_a_factor_are_the_same_for_every_row) {
  random_rows random(28);
  const auto bias = random.normal(2048);
  check_rows(
    29,
    [&](isa level, auto x, auto, lanes& pool) {
      add_bias(level, x, std::span(bias).first(x.cols), pool);
      scale_rows(level, x, 12.0f, pool);
    },
    [&](float x, float, size_t, size_t column) {
      return (x + bias[column]) * 12.0f;
    });
}

BOOST_AUTO_TEST_CASE(clipped_rows_stay_within_the_limit_and_keep_nan) {
  check_rows(
    30,
    [](isa level, auto x, auto, lanes& pool) {
      clip_rows(level, x, 0.75f, pool);
    },
    [](float x, float, size_t, size_t) {
      return x > 0.75f ? 0.75f : x < -0.75f ? -0.75f : x;
    });
  lanes pool({.count = 0});
  for (const isa level : all_isas()) {
    std::vector<float> x{nan, inf, -inf, 8.0f, -8.0f};
    clip_rows(level, rows_of(x, 5), 8.0f, pool);
    const std::vector<float> want{nan, 8.0f, -8.0f, 8.0f, -8.0f};
    BOOST_TEST(differing(x, want) == 0);
  }
}

BOOST_AUTO_TEST_CASE(conversion_rounds_like_to_bf16) {
  random_rows random(22);
  lanes pool({.count = 0});
  for (const isa level : all_isas())
    for (const size_t n : {1u, 31u, 64u, 1000u}) {
      auto x = random.normal(n, 1e3f);
      for (const float special :
           {inf, -inf, nan, 0.0f, -0.0f, 3.4e38f, 1.00390625f, 1.01171875f})
        x[random.below(n)] = special;
      std::vector<bf16> y(n);
      std::vector<float> back(n);
      convert_rows(level, as_activation(x.data(), 1, n),
                   as_output(y.data(), 1, n), pool);
      convert_rows(level, as_activation(y.data(), 1, n),
                   as_output(back.data(), 1, n), pool);
      for (size_t i = 0; i < n; ++i) {
        BOOST_REQUIRE(y[i] == to_bf16(x[i]));
        BOOST_REQUIRE(same_bits(back[i], to_float(y[i])));
      }
    }
}

BOOST_AUTO_TEST_CASE(one_bad_element_is_found_wherever_it_is) {
  for (const isa level : all_isas())
    for (const size_t n : {1u, 17u, 64u, 100u})
      for (const float bad : {inf, -inf, nan})
        for (size_t at = 0; at < n; ++at) {
          std::vector<float> x(n, -3.0e38f);
          BOOST_REQUIRE(all_finite(level, as_activation(x.data(), 1, n)));
          x[at] = bad;
          BOOST_REQUIRE(!all_finite(level, as_activation(x.data(), 1, n)));
          const auto y = rounded(x);
          BOOST_REQUIRE(!all_finite(level, as_activation(y.data(), 1, n)));
        }
}

BOOST_AUTO_TEST_SUITE_END()
