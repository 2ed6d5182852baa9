#include "actors/supervision/restart_decision.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;
using action = restart_decision::action;

namespace {

constexpr time_point t0{};

restart_policy make_policy(restart_type type, size_t intensity = 2) {
  restart_policy::options x;
  x.type = type;
  x.limit = {intensity, 1s};
  x.backoff = {10ms, 35ms, 0};
  return restart_policy{x};
}

} // namespace

BOOST_AUTO_TEST_SUITE(restart_decision_suite)

BOOST_AUTO_TEST_CASE(the_restart_type_decides_whether_a_child_comes_back) {
  auto what = [](restart_type type, child_end how) {
    return make_policy(type).ended(t0, how).what;
  };
  using enum restart_type;
  using enum child_end;
  BOOST_TEST((what(permanent, normal) == action::restart));
  BOOST_TEST((what(permanent, failure) == action::restart));
  BOOST_TEST((what(transient, normal) == action::forget));
  BOOST_TEST((what(transient, failure) == action::restart));
  BOOST_TEST((what(temporary, normal) == action::forget));
  BOOST_TEST((what(temporary, failure) == action::forget));
}

BOOST_AUTO_TEST_CASE(more_failures_than_the_intensity_escalate) {
  auto policy = make_policy(restart_type::permanent);
  BOOST_TEST((policy.ended(t0, child_end::failure).what == action::restart));
  BOOST_TEST(
    (policy.ended(t0 + 1ms, child_end::failure).what == action::restart));
  BOOST_TEST(
    (policy.ended(t0 + 2ms, child_end::failure).what == action::escalate));
}

BOOST_AUTO_TEST_CASE(failures_older_than_the_period_are_forgotten) {
  auto policy = make_policy(restart_type::permanent);
  for (int i = 0; i < 20; ++i) {
    auto decision = policy.ended(t0 + i * 600ms, child_end::failure);
    BOOST_TEST((decision.what == action::restart));
  }
}

BOOST_AUTO_TEST_CASE(the_delay_doubles_up_to_its_maximum) {
  auto policy = make_policy(restart_type::permanent, 10);
  auto delay = [&] { return policy.ended(t0, child_end::failure).delay; };
  BOOST_TEST((delay() == 10ms));
  BOOST_TEST((delay() == 20ms));
  BOOST_TEST((delay() == 35ms));
  BOOST_TEST((delay() == 35ms));
}

BOOST_AUTO_TEST_CASE(jitter_spreads_the_delays_and_keeps_within_its_bounds) {
  restart_backoff x{100ms, 1s, 0.2};
  BOOST_TEST((x.delay(1, 0.0) == 80ms));
  BOOST_TEST((x.delay(1, 0.5) == 100ms));
  BOOST_TEST((x.delay(1, 0.999) < 120ms));
  auto first_delay = [](uint64_t seed) {
    restart_policy::options options;
    options.backoff = {100ms, 1s, 0.2};
    options.seed = seed;
    return restart_policy{options}.ended(t0, child_end::failure).delay;
  };
  BOOST_TEST((first_delay(1) != first_delay(2)));
  BOOST_TEST((first_delay(1) == first_delay(1)));
}

BOOST_AUTO_TEST_SUITE_END()
