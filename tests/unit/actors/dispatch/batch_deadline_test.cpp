#include "actors/dispatch/batch_deadline.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

batch_deadline make_deadline() {
  return batch_deadline{{100ms, 10s, 4.0, 8}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(batch_deadline_suite)

BOOST_AUTO_TEST_CASE(an_unknown_node_gets_the_ceiling) {
  auto x = make_deadline();
  for (int i = 0; i < 7; ++i)
    x.observe(4, 1ms);
  BOOST_TEST((x.wait_for(4, 0) == 10s));
  x.observe(4, 1ms);
  BOOST_TEST((x.wait_for(4, 0) == 100ms));
}

BOOST_AUTO_TEST_CASE(a_slow_node_gets_a_multiple_of_its_own_latency) {
  auto x = make_deadline();
  for (int i = 0; i < 64; ++i)
    x.observe(4, 200ms);
  BOOST_TEST((x.wait_for(4, 0) == 800ms));
}

BOOST_AUTO_TEST_CASE(large_batches_wait_in_proportion_to_their_pairs) {
  auto x = make_deadline();
  for (int i = 0; i < 64; ++i)
    x.observe(100, 100ms);
  BOOST_TEST((x.wait_for(100, 0) == 400ms));
  BOOST_TEST((x.wait_for(100, 100) == 800ms));
  BOOST_TEST((x.wait_for(1000000, 0) == 10s));
}

BOOST_AUTO_TEST_CASE(small_batches_say_nothing_of_large_ones) {
  auto x = make_deadline();
  for (int i = 0; i < 64; ++i)
    x.observe(1, 1ms);
  BOOST_TEST((x.wait_for(4096, 0) == 10s));
}

BOOST_AUTO_TEST_CASE(old_latencies_are_forgotten) {
  auto x = make_deadline();
  for (int i = 0; i < 64; ++i)
    x.observe(1, 1s);
  for (int i = 0; i < 64; ++i)
    x.observe(1, 1ms);
  BOOST_TEST((x.wait_for(1, 0) == 100ms));
}

BOOST_AUTO_TEST_SUITE_END()
