// Medians, spreads and ratios of repeated runs.
#include "runtime/cli/run_figures.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::cli;

BOOST_AUTO_TEST_SUITE(run_figures_suite)

BOOST_AUTO_TEST_CASE(the_first_token_ends_the_prefill) {
  auto x = speed_of({100, {2.0, 2.5, 3.0, 3.5}});
  BOOST_TEST(x.prefill == 50.0);
  BOOST_TEST(x.decode == 2.0);
}

BOOST_AUTO_TEST_CASE(the_median_of_an_even_number_is_between_the_middle_two) {
  BOOST_TEST(spread_of({3, 1, 2}).median == 2.0);
  BOOST_TEST(spread_of({4, 1, 3, 2}).median == 2.5);
  BOOST_TEST(spread_of({5}).median == 5.0);
  BOOST_TEST(spread_of({3, 1, 2}).least == 1.0);
  BOOST_TEST(spread_of({3, 1, 2}).most == 3.0);
}

BOOST_AUTO_TEST_CASE(ratios_are_taken_pair_by_pair) {
  // The machine was half as fast in the second pair: the ratio does not care.
  auto x = ratio_of({90, 45, 90}, {100, 50, 100});
  BOOST_TEST(x.median == 0.9, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(x.least == 0.9, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(x.most == 0.9, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
