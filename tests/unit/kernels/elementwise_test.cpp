// Residual sums, change of type and the check for NaN and infinity, on every
// ISA and for lengths that are no multiple of a vector.
#include "kernels/elementwise.hpp"

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
