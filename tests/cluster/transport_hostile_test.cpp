// Hostile bytes at the head's port: the connection ends, the process lives, and
// honest nodes are served during and after it.
#include "tests/cluster/raw_socket.hpp"
#include "tests/cluster/transport_fixture.hpp"
#include "tests/support/basp_frames.hpp"

#include <csignal>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

byte_vector text(std::string_view x) {
  return frame_builder{}.raw(x).done();
}

byte_vector random_bytes(unsigned seed) {
  std::mt19937 random{seed};
  byte_vector result(4096);
  for (auto& x : result)
    x = static_cast<std::byte>(random());
  return result;
}

byte_vector header_only(basp::op op, uint32_t payload_size) {
  auto x = header_of(op);
  x.payload_size = payload_size;
  return encode(x);
}

byte_vector operator+(byte_vector x, const byte_vector& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

byte_vector greeted(const frame& x) {
  return encode(client_handshake(99)) + encode(x);
}

frame routed(uint64_t dest) {
  auto x = direct_message("@<>+ping", dest);
  x.head.op = static_cast<uint8_t>(basp::op::routed_message);
  return x;
}

frame named(std::string_view name) {
  auto x = direct_message("@<>+@atom+@atom+@str", basp::atom_number(name));
  x.head.flags = basp::named_receiver_flag;
  return x;
}

/// A message in a message in a message ... as deep as the frame limit allows.
frame deeply_nested(uint64_t dest) {
  frame x{header_of(basp::op::direct_message), {}};
  x.head.dest_actor = dest;
  frame_builder payload;
  payload.length(0);
  for (int i = 0; i < 60'000; ++i)
    payload.number(uint16_t{0}).text("@<>+@message");
  x.payload = payload.done();
  return x;
}

struct attack {
  const char* name;
  byte_vector bytes;
};

std::vector<attack> attacks_on(uint64_t actor) {
  auto huge = header_only(basp::op::direct_message, 0xFFFFFFFF);
  return {
    {"random bytes", random_bytes(1)},
    {"zeros", byte_vector(4096)},
    {"an HTTP request", text("GET / HTTP/1.1\r\nHost: localhost\r\n"
                             "User-Agent: curl/7.88.1\r\n\r\n")},
    {"a TLS greeting",
     text(std::string("\x16\x03\x01\x02\x00\x01", 6) + std::string(500, 'x'))},
    {"client handshake without payload",
     header_only(basp::op::client_handshake, 0)},
    {"server handshake without payload",
     header_only(basp::op::server_handshake, 0)},
    {"client handshake of 4 GiB",
     header_only(basp::op::client_handshake, 0xFFFFFFFF)},
    {"client handshake of 1 MiB",
     header_only(basp::op::client_handshake, 1 << 20) + random_bytes(2)},
    {"client handshake of garbage",
     header_only(basp::op::client_handshake, 32) + random_bytes(3)},
    {"message first", encode(direct_message("@<>+ping", actor))},
    {"heartbeats first", header_only(basp::op::heartbeat, 0)},
    {"message of 4 GiB", encode(client_handshake(99)) + huge},
    {"exit", greeted(direct_message("@<>+@exit", actor))},
    {"exit by kill to every id", greeted(direct_message("@<>+@exit", 1))},
    {"down", greeted(direct_message("@<>+@down", actor))},
    {"nested message", greeted(direct_message("@<>+@message", actor))},
    {"deeply nested message", greeted(deeply_nested(actor))},
    {"link", greeted(direct_message("@<>+@atom+@strong_actor_ptr", actor))},
    {"unregistered type", greeted(direct_message("@<>+nonsense", actor))},
    {"type of another actor", greeted(direct_message("@<>+pong", actor))},
    {"routed message", greeted(routed(actor))},
    {"config server", greeted(named("ConfigServ"))},
    {"spawn server, twice",
     greeted(named("SpawnServ")) + encode(named("SpawnServ"))},
  };
}

/// User and system time of this process.
duration cpu_time() {
  rusage x{};
  ::getrusage(RUSAGE_SELF, &x);
  return seconds{x.ru_utime.tv_sec + x.ru_stime.tv_sec} +
         std::chrono::microseconds{x.ru_utime.tv_usec + x.ru_stime.tv_usec};
}

} // namespace

BOOST_AUTO_TEST_SUITE(transport_hostile)

BOOST_AUTO_TEST_CASE(every_attack_ends_its_connection_and_nothing_else) {
  test_head head;
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  for (const auto& x : attacks_on(head.actor.id())) {
    BOOST_TEST_CONTEXT(x.name) {
      raw_socket attacker{head.port};
      BOOST_REQUIRE(attacker.connected());
      attacker.send(x.bytes);
      BOOST_TEST(attacker.closed_within(seconds{20}));
      BOOST_TEST(node.answers(peer->actor));
    }
  }
  BOOST_TEST(head.cluster.transport()->connections.counters.refused_frames >=
             20U);
  BOOST_TEST(test_node{}.is_served(head.port));
}

BOOST_AUTO_TEST_CASE(garbage_in_an_allowed_message_reaches_no_handler) {
  test_head head;
  test_node node;
  raw_socket attacker{head.port};
  attacker.send(greeted(direct_message("@<>+ping", head.actor.id())));
  attacker.send(encode(direct_message("@<>+ping", head.actor.id() + 1000)));
  BOOST_TEST(node.is_served(head.port));
  auto& connections = head.cluster.transport()->connections;
  BOOST_TEST(connections.counters.dropped_frames >= 1U);
  BOOST_TEST(!attacker.closed_within(milliseconds{50}));
}

BOOST_AUTO_TEST_CASE(silence_is_cut_off_at_the_handshake_deadline) {
  test_head head;
  raw_socket silent{head.port};
  raw_socket halting{head.port};
  auto cut_short = encode(client_handshake(99));
  cut_short.pop_back();
  halting.send(cut_short);
  BOOST_TEST(silent.closed_within(seconds{20}));
  BOOST_TEST(halting.closed_within(seconds{20}));
  BOOST_TEST(
    head.cluster.transport()->connections.counters.expired_handshakes == 2U);
}

BOOST_AUTO_TEST_CASE(a_frame_that_never_ends_is_cut_off) {
  test_head head;
  raw_socket attacker{head.port};
  auto frame = greeted(direct_message("@<>+ping", head.actor.id()));
  frame.pop_back();
  attacker.send(frame);
  // CAF's connection timeout (here 1 s) covers peers that have spoken.
  BOOST_TEST(attacker.closed_within(seconds{20}));
}

BOOST_AUTO_TEST_CASE(two_hundred_silent_connections_keep_nobody_out) {
  auto o = quick_options();
  o.transport.connections.handshake_deadline = seconds{30};
  test_head head{o};
  std::vector<raw_socket> idle;
  for (int i = 0; i < 200; ++i)
    idle.emplace_back(head.port);
  test_node node;
  BOOST_TEST(node.is_served(head.port));
  auto& connections = head.cluster.transport()->connections;
  BOOST_TEST(eventually([&] {
    return connections.counters.accepted >= 201U && connections.size() <= 10U;
  }));
}

BOOST_AUTO_TEST_CASE(the_second_user_of_a_node_id_is_refused) {
  test_head head;
  raw_socket first{head.port};
  first.send(encode(client_handshake(99)));
  auto& connections = head.cluster.transport()->connections;
  BOOST_TEST(eventually([&] {
    auto all = connections.stats();
    return all.size() == 1 && all[0].handshaken;
  }));
  raw_socket second{head.port};
  second.send(encode(client_handshake(99)));
  BOOST_TEST(second.closed_within(seconds{20}));
  BOOST_TEST(!first.closed_within(milliseconds{50}));
}

BOOST_AUTO_TEST_CASE(running_out_of_descriptors_neither_spins_nor_ends_it) {
  test_head head;
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  auto none = before;
  none.rlim_cur = 3; // Open ones stay, new ones fail.
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  auto child = ::fork();
  if (child == 0) {
    ::setrlimit(RLIMIT_NOFILE, &before);
    raw_socket knocking{head.port};
    knocking.closed_within(seconds{20});
    ::_exit(0);
  }
  auto& counters = head.cluster.transport()->connections.counters;
  bool failed = eventually([&] { return counters.accept_errors > 0U; });
  auto used_before = cpu_time();
  std::this_thread::sleep_for(milliseconds{300});
  auto used = cpu_time() - used_before;
  bool answers = node.answers(peer->actor);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_TEST(failed);
  BOOST_TEST((used < milliseconds{150}));
  BOOST_TEST(answers);
  BOOST_TEST(test_node{}.is_served(head.port));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

BOOST_AUTO_TEST_SUITE_END()
