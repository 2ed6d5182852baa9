// Bounds and deadlines of the connection table, on socket pairs without peers.
#include "actors/transport/connection_table.hpp"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace troupe;

namespace {

struct table_fixture {
  ~table_fixture() {
    for (int fd : sockets)
      ::close(fd);
  }

  static connection_limits limits() {
    connection_limits x;
    x.peers = 2;
    x.pending = 2;
    x.handshake_deadline = std::chrono::seconds{3};
    x.linger = std::chrono::seconds{5};
    return x;
  }

  connection_table::handle accept(time_point at = {}) {
    int pair[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    sockets.push_back(pair[0]);
    sockets.push_back(pair[1]);
    connection_table::entry x;
    x.fd = pair[0];
    x.accepted = true;
    x.since = at;
    return table.enter(x);
  }

  /// Whether the table has ended the connection's socket.
  static bool is_cut(connection_table::handle h) {
    pollfd event{h->fd, POLLIN, 0};
    return ::poll(&event, 1, 0) == 1 && (event.revents & POLLHUP) != 0;
  }

  static basp::node_key node(int number) {
    basp::node_key key{};
    key[31] = static_cast<std::byte>(number);
    return key;
  }

  connection_table table{limits()};
  std::vector<int> sockets;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(connections, table_fixture)

BOOST_AUTO_TEST_CASE(the_oldest_silent_connection_gives_way) {
  auto first = accept();
  auto second = accept();
  BOOST_TEST(!is_cut(first));
  auto third = accept();
  BOOST_TEST(is_cut(first));
  BOOST_TEST(!is_cut(second));
  BOOST_TEST(!is_cut(third));
}

BOOST_AUTO_TEST_CASE(a_peer_that_has_spoken_does_not_give_way) {
  auto first = accept();
  BOOST_TEST(table.handshake_done(first, node(1)));
  for (int i = 0; i < 10; ++i)
    accept();
  BOOST_TEST(!is_cut(first));
}

BOOST_AUTO_TEST_CASE(a_silent_connection_is_cut_at_the_deadline) {
  time_point start{};
  auto silent = accept(start);
  auto peer = accept(start);
  BOOST_TEST(table.handshake_done(peer, node(1)));
  table.sweep(start + std::chrono::milliseconds{2999});
  BOOST_TEST(!is_cut(silent));
  table.sweep(start + std::chrono::seconds{3});
  BOOST_TEST(is_cut(silent));
  BOOST_TEST(!is_cut(peer));
  BOOST_TEST(table.counters.expired_handshakes == 1U);
}

BOOST_AUTO_TEST_CASE(peers_beyond_the_bound_are_refused) {
  for (int i = 1; i <= 2; ++i)
    BOOST_TEST(table.handshake_done(accept(), node(i)));
  BOOST_TEST(!table.handshake_done(accept(), node(3)));
}

BOOST_AUTO_TEST_CASE(a_second_connection_of_a_node_waits_for_the_first) {
  auto first = accept();
  BOOST_TEST(table.handshake_done(first, node(1)));
  auto second = accept();
  BOOST_TEST(!table.handshake_done(second, node(1)));
  table.leave(first);
  BOOST_TEST(table.handshake_done(second, node(1)));
}

BOOST_AUTO_TEST_CASE(a_closing_connection_is_cut_after_its_linger) {
  time_point start{};
  auto x = accept(start);
  BOOST_TEST(table.handshake_done(x, node(1)));
  table.closing(x, start + std::chrono::seconds{10});
  table.sweep(start + std::chrono::seconds{14});
  BOOST_TEST(!is_cut(x));
  table.sweep(start + std::chrono::seconds{15});
  BOOST_TEST(is_cut(x));
}

BOOST_AUTO_TEST_CASE(traffic_is_counted_per_connection) {
  auto x = accept();
  accept();
  table.received(x, 100);
  table.received(x, 50);
  table.sent(x, 7, 3);
  table.dropped(x);
  auto stats = table.stats();
  BOOST_REQUIRE(stats.size() == 2U);
  BOOST_TEST(stats[0].bytes_in == 150U);
  BOOST_TEST(stats[0].frames_in == 2U);
  BOOST_TEST(stats[0].bytes_out == 7U);
  BOOST_TEST(stats[0].backlog_bytes == 3U);
  BOOST_TEST(stats[0].frames_dropped == 1U);
  BOOST_TEST(stats[1].bytes_in == 0U);
}

BOOST_AUTO_TEST_CASE(the_reason_of_a_refusal_is_remembered) {
  auto x = accept();
  x->stats.address = "127.0.0.1:9";
  table.refuse(x, "message: too large");
  BOOST_TEST(is_cut(x));
  BOOST_TEST(table.last_refusal() == "127.0.0.1:9: message: too large");
}

BOOST_AUTO_TEST_SUITE_END()
