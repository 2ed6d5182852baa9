#include "runtime/trace/remote_span.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const time_point t0{};

void check(const exchange_window& window, const remote_durations& measured,
           duration arrived, duration started, duration replied) {
  auto got = place_remote(window, measured);
  BOOST_TEST((got.arrived == t0 + arrived));
  BOOST_TEST((got.started == t0 + started));
  BOOST_TEST((got.replied == t0 + replied));
}

} // namespace

BOOST_AUTO_TEST_SUITE(remote_span_suite)

BOOST_AUTO_TEST_CASE(both_ways_are_taken_as_equally_long) {
  check({t0, t0 + 100us}, {20us, 40us}, 20us, 40us, 80us);
}

BOOST_AUTO_TEST_CASE(durations_that_fill_the_window_leave_no_way) {
  check({t0, t0 + 60us}, {20us, 40us}, 0us, 20us, 60us);
}

BOOST_AUTO_TEST_CASE(durations_too_long_for_the_window_are_cut) {
  check({t0, t0 + 50us}, {20us, 40us}, 0us, 10us, 50us);
  check({t0, t0 + 50us}, {20us, 90us}, 0us, 0us, 50us);
  check({t0, t0 + 50us}, {duration::max(), duration::max()}, 0us, 0us, 50us);
}

BOOST_AUTO_TEST_CASE(negative_durations_count_as_zero) {
  check({t0, t0 + 50us}, {-5us, duration::min()}, 25us, 25us, 25us);
}

BOOST_AUTO_TEST_CASE(an_empty_window_places_all_at_once) {
  check({t0, t0}, {1us, 1us}, 0us, 0us, 0us);
}

BOOST_AUTO_TEST_SUITE_END()
