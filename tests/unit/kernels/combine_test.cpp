// The weighted sum of replies: its order, its types, and equal bits on every
// ISA, batch and number of lanes.
#include "kernels/combine.hpp"

#include "kernels/reference/combine.hpp"
#include "row_support.hpp"

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(combining)

BOOST_AUTO_TEST_CASE(pairs_are_summed_in_the_order_of_k) {
  lanes pool({.count = 0});
  // 2^24 + 1 is no float: the small terms survive only when they come first.
  const std::vector<float> weights(3, 1.0f);
  const std::vector<float> small_first{1.0f, 1.0f, 16777216.0f};
  const std::vector<float> large_first{16777216.0f, 1.0f, 1.0f};
  for (const isa level : all_isas()) {
    std::vector<float> y(1);
    combine({.isa = level}, as_activation(small_first.data(), 3, 1),
            rows_of(weights, 3), rows_of(y, 1), pool);
    BOOST_TEST(y[0] == 16777218.0f);
    combine({.isa = level}, as_activation(large_first.data(), 3, 1),
            rows_of(weights, 3), rows_of(y, 1), pool);
    BOOST_TEST(y[0] == 16777216.0f);
  }
}

BOOST_AUTO_TEST_CASE(the_sum_is_added_to_the_residual_at_the_end) {
  lanes pool({.count = 0});
  const std::vector<float> weights{0.5f, 0.25f};
  const std::vector<float> pairs{2.0f, 4.0f, 8.0f, 16.0f};
  std::vector<float> y{100.0f, 200.0f};
  combine({.into = combine_into::add}, as_activation(pairs.data(), 2, 2),
          rows_of(weights, 2), rows_of(y, 2), pool);
  BOOST_TEST(y == (std::vector<float>{103.0f, 206.0f}));
  combine({}, as_activation(pairs.data(), 2, 2), rows_of(weights, 2),
          rows_of(y, 2), pool);
  BOOST_TEST(y == (std::vector<float>{3.0f, 6.0f}));
}

BOOST_AUTO_TEST_CASE(every_isa_and_lane_gives_the_bits_of_the_definition) {
  random_rows random(51);
  const flush_denormals_scope flush;
  for (const size_t hidden : {1u, 7u, 64u, 100u, 2048u})
    for (const size_t k : {1u, 2u, 8u}) {
      const auto pairs = random.normal(9 * k * hidden);
      const auto pairs_bf16 = rounded(pairs);
      const auto weights = random.normal(9 * k);
      const auto base = random.normal(9 * hidden);
      for (const combine_into into :
           {combine_into::overwrite, combine_into::add}) {
        auto want = base;
        auto want_bf16 = base;
        reference::combine({.into = into},
                           as_activation(pairs.data(), 9 * k, hidden),
                           rows_of(weights, k), rows_of(want, hidden));
        reference::combine({.into = into},
                           as_activation(pairs_bf16.data(), 9 * k, hidden),
                           rows_of(weights, k), rows_of(want_bf16, hidden));
        for (const isa level : all_isas()) {
          lanes pool({.count = k % 3});
          auto y = base;
          auto y_bf16 = base;
          const combine_options options{into, level};
          combine(options, as_activation(pairs.data(), 9 * k, hidden),
                  rows_of(weights, k), rows_of(y, hidden), pool);
          combine(options, as_activation(pairs_bf16.data(), 9 * k, hidden),
                  rows_of(weights, k), rows_of(y_bf16, hidden), pool);
          BOOST_TEST(differing(y, want) == 0);
          BOOST_TEST(differing(y_bf16, want_bf16) == 0);
        }
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
