// Chunks and credits: payloads arrive whole under any interleaving, bounds hold
// at every step, and lies are refused.
#include "actors/transport/chunking.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <map>
#include <random>

using namespace troupe;

namespace {

constexpr chunk_limits small_limits() {
  chunk_limits x;
  x.chunk_bytes = 10;
  x.window_bytes = 40;
  x.transfer_bytes = 200;
  x.backlog_bytes = 1000;
  x.assembly_bytes = 300;
  x.assemblies = 3;
  x.assembly_deadline = std::chrono::seconds{30};
  return x;
}

shared_bytes payload_of(size_t size, size_t salt) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + salt);
  return shared_bytes::copy_of(bytes);
}

chunk valid_chunk(uint64_t transfer, uint32_t index, uint32_t count) {
  return {transfer, index, count, uint64_t{10} * count, payload_of(10, index)};
}

/// A sender, an assembler, and the two queues of a connection between them.
struct connection {
  explicit connection(chunk_limits x) : limits(x), sender(x), assembler(x) {
    // nop
  }

  void send() {
    if (auto x = sender.next())
      to_receiver.push_back(std::move(*x));
  }

  void receive() {
    if (to_receiver.empty())
      return;
    auto done = assembler.accept(to_receiver.front(), now);
    to_receiver.pop_front();
    BOOST_REQUIRE(done.has_value());
    if (*done)
      BOOST_TEST(received.emplace((*done)->transfer, (*done)->payload).second);
    if (auto credit = assembler.take_credit())
      to_sender.push_back(credit);
  }

  void credit() {
    if (to_sender.empty())
      return;
    BOOST_TEST(sender.add_credit(to_sender.front()).has_value());
    to_sender.pop_front();
  }

  void check_bounds() const {
    BOOST_TEST(sender.in_flight_bytes() <= limits.window_bytes);
    BOOST_TEST(sender.backlog_bytes() <= limits.backlog_bytes);
    BOOST_TEST(assembler.open_bytes() <= limits.assembly_bytes);
    BOOST_TEST(assembler.open_assemblies() <= limits.assemblies);
  }

  chunk_limits limits;
  chunk_sender sender;
  chunk_assembler assembler;
  time_point now{};
  std::deque<chunk> to_receiver;
  std::deque<uint64_t> to_sender;
  std::map<uint64_t, shared_bytes> received;
};

} // namespace

BOOST_AUTO_TEST_SUITE(chunking)

BOOST_AUTO_TEST_CASE(random_payloads_arrive_whole_within_all_bounds) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 50; ++round) {
    connection x{small_limits()};
    std::map<uint64_t, shared_bytes> sent;
    for (size_t step = 0; step < 2000; ++step) {
      switch (random() % 5) {
      case 0: {
        auto payload = payload_of(1 + random() % 200, step);
        if (auto id = x.sender.push(payload))
          sent.emplace(*id, payload);
        break;
      }
      case 1:
        x.credit();
        break;
      case 2:
        x.receive();
        break;
      default:
        x.send();
      }
      x.check_bounds();
    }
    // Whatever is left arrives once the connection runs freely.
    for (int step = 0; step < 1000; ++step) {
      x.send();
      x.receive();
      x.credit();
    }
    BOOST_TEST((x.received == sent));
    BOOST_TEST(x.sender.backlog_bytes() == 0U);
    BOOST_TEST(x.assembler.open_bytes() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(without_credit_the_sender_stops_at_the_window) {
  chunk_sender sender{small_limits()};
  BOOST_TEST(sender.push(payload_of(200, 0)).has_value());
  int chunks = 0;
  while (sender.next())
    ++chunks;
  BOOST_TEST(chunks == 4);
  BOOST_TEST(sender.in_flight_bytes() == 40U);
  BOOST_TEST(sender.add_credit(10).has_value());
  BOOST_TEST(sender.next().has_value());
  BOOST_TEST(!sender.next().has_value());
}

BOOST_AUTO_TEST_CASE(a_small_payload_overtakes_a_large_one) {
  chunk_sender sender{small_limits()};
  auto large = sender.push(payload_of(200, 0));
  auto small = sender.push(payload_of(5, 0));
  BOOST_REQUIRE(large && small);
  BOOST_TEST(sender.next()->transfer == *large);
  BOOST_TEST(sender.next()->transfer == *small);
  BOOST_TEST(sender.next()->transfer == *large);
}

BOOST_AUTO_TEST_CASE(credits_are_running_sums_so_a_repeated_one_is_harmless) {
  chunk_sender sender{small_limits()};
  BOOST_TEST(sender.push(payload_of(200, 0)).has_value());
  while (sender.next())
    ;
  BOOST_TEST(sender.add_credit(20).has_value());
  BOOST_TEST(sender.add_credit(20).has_value());
  BOOST_TEST(sender.add_credit(10).has_value());
  BOOST_TEST(sender.in_flight_bytes() == 20U);
  BOOST_TEST(!sender.add_credit(41).has_value());
}

BOOST_AUTO_TEST_CASE(the_sender_refuses_what_it_cannot_hold) {
  chunk_sender sender{small_limits()};
  BOOST_TEST((sender.push({}).error().code == ec::invalid_argument));
  BOOST_TEST(
    (sender.push(payload_of(201, 0)).error().code == ec::invalid_argument));
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(sender.push(payload_of(200, 0)).has_value());
  BOOST_TEST((sender.push(payload_of(1, 0)).error().code == ec::overloaded));
}

BOOST_AUTO_TEST_CASE(a_cancelled_payload_is_not_sent) {
  chunk_sender sender{small_limits()};
  auto first = sender.push(payload_of(10, 0));
  auto second = sender.push(payload_of(10, 0));
  sender.cancel(*first);
  BOOST_TEST(sender.backlog_bytes() == 10U);
  BOOST_TEST(sender.next()->transfer == *second);
  BOOST_TEST(!sender.next().has_value());
}

BOOST_AUTO_TEST_CASE(lying_chunks_are_refused) {
  auto with = [](auto change) {
    auto x = valid_chunk(2, 0, 3);
    change(x);
    return x;
  };
  const chunk table[]{
    with([](chunk& x) { x.transfer = 0; }),
    with([](chunk& x) { x.total = 0; }),
    with([](chunk& x) { x.total = 201; }),
    with([](chunk& x) { x.total = UINT64_MAX; }),
    with([](chunk& x) { x.total = 31; }),
    with([](chunk& x) { x.count = 2; }),
    with([](chunk& x) { x.count = 0; }),
    with([](chunk& x) { x.count = UINT32_MAX; }),
    with([](chunk& x) { x.index = 3; }),
    with([](chunk& x) { x.index = UINT32_MAX; }),
    with([](chunk& x) { x.bytes = {}; }),
    with([](chunk& x) { x.bytes = payload_of(9, 0); }),
    with([](chunk& x) { x.bytes = payload_of(11, 0); }),
    with([](chunk& x) { x.index = 1; }), // Its first chunk is missing.
  };
  for (const auto& x : table) {
    chunk_assembler assembler{small_limits()};
    BOOST_TEST(!assembler.accept(x, {}).has_value());
    BOOST_TEST(assembler.open_bytes() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(chunks_must_fit_their_predecessors) {
  chunk_assembler assembler{small_limits()};
  BOOST_TEST(assembler.accept(valid_chunk(1, 0, 3), {}).has_value());
  BOOST_TEST(!assembler.accept(valid_chunk(1, 2, 3), {}).has_value());
  BOOST_TEST(!assembler.accept(valid_chunk(1, 1, 4), {}).has_value());
  BOOST_TEST(assembler.accept(valid_chunk(1, 1, 3), {}).has_value());
}

BOOST_AUTO_TEST_CASE(duplicates_are_dropped_and_not_credited) {
  chunk_assembler assembler{small_limits()};
  auto first = valid_chunk(1, 0, 2);
  BOOST_TEST(assembler.accept(first, {}).has_value());
  BOOST_TEST(assembler.accept(first, {}).has_value());
  auto done = assembler.accept(valid_chunk(1, 1, 2), {});
  BOOST_REQUIRE(done.has_value());
  BOOST_TEST(done->has_value());
  BOOST_TEST(assembler.accept(first, {}).has_value());
  BOOST_TEST(assembler.dropped_chunks() == 2U);
  BOOST_TEST(assembler.take_credit() == 20U);
}

BOOST_AUTO_TEST_CASE(too_many_or_too_large_assemblies_are_refused) {
  chunk_assembler assembler{small_limits()};
  BOOST_TEST(assembler.accept(valid_chunk(1, 0, 20), {}).has_value());
  auto refused = assembler.accept(valid_chunk(2, 0, 11), {});
  BOOST_REQUIRE(!refused);
  BOOST_TEST((refused.error().code == ec::overloaded));
  BOOST_TEST(assembler.accept(valid_chunk(3, 0, 2), {}).has_value());
  BOOST_TEST(assembler.accept(valid_chunk(4, 0, 2), {}).has_value());
  BOOST_TEST(!assembler.accept(valid_chunk(5, 0, 2), {}).has_value());
}

BOOST_AUTO_TEST_CASE(abandoned_assemblies_expire_and_their_rest_is_credited) {
  chunk_assembler assembler{small_limits()};
  time_point start{};
  BOOST_TEST(assembler.accept(valid_chunk(1, 0, 3), start).has_value());
  BOOST_TEST(assembler.expire(start + std::chrono::seconds{29}) == 0U);
  BOOST_TEST(assembler.expire(start + std::chrono::seconds{30}) == 1U);
  BOOST_TEST(assembler.open_bytes() == 0U);
  auto late = assembler.accept(valid_chunk(1, 1, 3), start);
  BOOST_REQUIRE(late.has_value());
  BOOST_TEST(!late->has_value());
  auto last = assembler.accept(valid_chunk(1, 2, 3), start);
  BOOST_REQUIRE(last.has_value());
  BOOST_TEST(!last->has_value());
  BOOST_TEST(assembler.take_credit() == 30U);
}

BOOST_AUTO_TEST_SUITE_END()
