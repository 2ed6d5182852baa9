#include "actors/membership/failure_detector.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

const time_point t0 = time_point{} + 1h;

failure_detector make_detector() {
  return failure_detector{{800ms, 2s, 1s}, t0};
}

} // namespace

BOOST_AUTO_TEST_SUITE(failure_detector_suite)

BOOST_AUTO_TEST_CASE(silence_makes_a_node_suspect_and_then_dead) {
  auto x = make_detector();
  BOOST_TEST((x.state(t0) == node_state::alive));
  BOOST_TEST((x.state(t0 + 800ms) == node_state::alive));
  BOOST_TEST((x.state(t0 + 801ms) == node_state::suspect));
  BOOST_TEST((x.state(t0 + 2001ms) == node_state::dead));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_clears_the_suspicion_of_silence) {
  auto x = make_detector();
  x.heartbeat(t0 + 900ms);
  BOOST_TEST((x.state(t0 + 901ms) == node_state::alive));
}

BOOST_AUTO_TEST_CASE(a_missed_deadline_keeps_a_node_suspect_for_probation) {
  auto x = make_detector();
  x.missed_deadline(t0 + 100ms);
  x.heartbeat(t0 + 200ms);
  BOOST_TEST((x.state(t0 + 201ms) == node_state::suspect));
  x.heartbeat(t0 + 1000ms);
  BOOST_TEST((x.state(t0 + 1099ms) == node_state::suspect));
  BOOST_TEST((x.state(t0 + 1100ms) == node_state::alive));
}

BOOST_AUTO_TEST_CASE(probation_does_not_end_without_a_heartbeat) {
  failure_detector x{{1500ms, 5s, 1s}, t0};
  x.missed_deadline(t0 + 100ms);
  BOOST_TEST((x.state(t0 + 1200ms) == node_state::suspect));
  x.heartbeat(t0 + 1300ms);
  BOOST_TEST((x.state(t0 + 1300ms) == node_state::alive));
}

BOOST_AUTO_TEST_CASE(a_lost_connection_is_death_at_once_and_for_good) {
  auto x = make_detector();
  x.connection_lost();
  BOOST_TEST((x.state(t0) == node_state::dead));
  x.heartbeat(t0 + 1ms);
  BOOST_TEST((x.state(t0 + 1ms) == node_state::dead));
}

BOOST_AUTO_TEST_SUITE_END()
