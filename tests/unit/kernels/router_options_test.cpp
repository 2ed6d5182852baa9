// A router that could not find enough experts is refused before it routes.
#include "kernels/router_options.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace troupe::kernels;

BOOST_AUTO_TEST_SUITE(router_options_test)

namespace {

bool refused(const router_options& options, size_t experts) {
  const auto ok = check_router(options, experts);
  return !ok && ok.error().code == troupe::ec::invalid_argument &&
         ok.error().message.starts_with("router: ");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_row_takes_from_one_to_all_experts) {
  BOOST_TEST(check_router({.top_k = 1}, 1).has_value());
  BOOST_TEST(check_router({.top_k = 8}, 8).has_value());
  BOOST_TEST(refused({.top_k = 0}, 8));
  BOOST_TEST(refused({.top_k = 9}, 8));
}

BOOST_AUTO_TEST_CASE(kept_groups_hold_enough_experts) {
  const auto with = [](router_groups groups) {
    router_options options{.top_k = 4};
    options.groups = groups;
    return options;
  };
  BOOST_TEST(check_router(with({.count = 4, .kept = 2}), 8).has_value());
  BOOST_TEST(refused(with({.count = 0, .kept = 1}), 8));
  BOOST_TEST(refused(with({.count = 3, .kept = 2}), 8));
  BOOST_TEST(refused(with({.count = 4, .kept = 0}), 8));
  BOOST_TEST(refused(with({.count = 4, .kept = 5}), 8));
  BOOST_TEST(refused(with({.count = 4, .kept = 1}), 8));
  BOOST_TEST(refused(
    with({.count = 8, .kept = 4, .score = group_score::sum_of_two}), 8));
}

BOOST_AUTO_TEST_CASE(a_bias_has_one_value_for_each_expert) {
  const std::array<float, 7> seven{};
  router_options options;
  options.selection_bias = seven;
  BOOST_TEST(refused(options, 8));
  BOOST_TEST(check_router(options, 7).has_value());
  options.selection_bias = {};
  options.logit_bias = seven;
  BOOST_TEST(refused(options, 8));
}

BOOST_AUTO_TEST_CASE(epsilon_and_jitter_are_numbers_from_zero_on) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(refused({.epsilon = -1e-6f}, 8));
  BOOST_TEST(refused({.epsilon = nan}, 8));
  BOOST_TEST(refused({.jitter = -0.1f}, 8));
}

BOOST_AUTO_TEST_SUITE_END()
