#include "actors/peer_link.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace troupe;

namespace {

/// A link whose network is a list.
class recorded_link : public peer_link {
public:
  explicit recorded_link(size_t queue_max = 1000)
    : peer_link({3, 9, nullptr, 100, queue_max, std::chrono::seconds(20)}) {
    // nop
  }

  std::vector<size_t> delivered;

protected:
  void deliver(const parcel& x) override {
    delivered.push_back(x.payload_bytes);
  }
};

bool send(peer_link& link, size_t bytes) {
  return link.send({nullptr, nullptr, caf::message{}, bytes});
}

} // namespace

BOOST_AUTO_TEST_SUITE(peer_link_suite)

BOOST_AUTO_TEST_CASE(no_more_than_a_window_is_on_the_way) {
  recorded_link x;
  BOOST_TEST(send(x, 60));
  BOOST_TEST(send(x, 40));
  BOOST_TEST(send(x, 1));
  BOOST_TEST(x.delivered.size() == 2u);
  x.credit(60);
  BOOST_TEST(x.delivered.size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_waits_leaves_in_order) {
  recorded_link x;
  send(x, 90);
  send(x, 50);
  send(x, 5); // would fit, but must not overtake
  BOOST_TEST(x.delivered.size() == 1u);
  x.credit(90);
  BOOST_TEST(x.delivered == (std::vector<size_t>{90, 50, 5}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_parcel_larger_than_the_window_still_leaves) {
  recorded_link x;
  BOOST_TEST(send(x, 500));
  BOOST_TEST(x.delivered.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_queue_is_bounded) {
  recorded_link x{50};
  send(x, 100);
  BOOST_TEST(send(x, 50));
  BOOST_TEST(!send(x, 1));
}

BOOST_AUTO_TEST_CASE(a_peer_that_credits_too_much_gains_nothing) {
  recorded_link x;
  send(x, 100);
  x.credit(1'000'000);
  send(x, 100);
  BOOST_TEST(!x.delivered.empty());
  send(x, 100);
  BOOST_TEST(x.delivered.size() == 2u);
}

BOOST_AUTO_TEST_CASE(credit_is_given_when_a_quarter_window_is_due) {
  recorded_link x;
  x.received(24);
  BOOST_TEST(x.delivered.empty());
  x.received(1);
  BOOST_TEST(x.delivered.size() == 1u);
  x.received(24);
  BOOST_TEST(x.delivered.size() == 1u);
  BOOST_TEST(x.bytes_received() == 49u);
}

BOOST_AUTO_TEST_CASE(credit_that_never_comes_does_not_stop_the_link_for_ever) {
  using namespace std::chrono_literals;
  const time_point t0 = time_point{} + 1h;
  recorded_link x;
  send(x, 100);
  send(x, 50);
  x.tick(t0);
  x.tick(t0 + 19s);
  BOOST_TEST(x.delivered.size() == 1u);
  x.tick(t0 + 20s);
  BOOST_TEST(x.delivered.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_link_whose_credit_comes_is_left_alone) {
  using namespace std::chrono_literals;
  const time_point t0 = time_point{} + 1h;
  recorded_link x;
  for (int i = 0; i < 10; ++i)
    send(x, 100);
  for (int i = 0; i < 5; ++i) {
    x.tick(t0 + i * 15s);
    x.credit(100);
  }
  BOOST_TEST(x.delivered.size() == 6u);
}

BOOST_AUTO_TEST_CASE(a_closed_link_sends_nothing) {
  recorded_link x;
  send(x, 100);
  send(x, 10);
  x.close();
  x.credit(100);
  BOOST_TEST(x.delivered.size() == 1u);
  BOOST_TEST(!send(x, 1));
}

BOOST_AUTO_TEST_SUITE_END()
