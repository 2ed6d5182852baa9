// The guard as a table: valid conversations of both roles, then every broken
// variant of each frame.
#include "actors/transport/frame_guard.hpp"
#include "tests/support/basp_frames.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr uint32_t us = 1;
constexpr uint32_t them = 2;
constexpr uint64_t known_actor = 7;

// -- valid frames -------------------------------------------------------------

frame handshake(uint8_t flags = 0) {
  return client_handshake(them, flags);
}

frame server_handshake() {
  frame x{header_of(basp::op::server_handshake), frame_builder{}
                                                   .node(them)
                                                   .length(1)
                                                   .text("troupe")
                                                   .number(uint64_t{7})
                                                   .length(2)
                                                   .text("a")
                                                   .text("b")
                                                   .done()};
  x.head.data = basp::version;
  return x;
}

frame message(std::string_view types, uint64_t dest = known_actor) {
  return direct_message(types, dest);
}

frame monitor() {
  frame x{header_of(basp::op::monitor_message),
          frame_builder{}.node(them).node(us).done()};
  x.head.dest_actor = known_actor;
  return x;
}

frame down(std::string_view context = "@<>") {
  frame_builder payload;
  payload.node(them).node(us).number(uint8_t{5}).number(uint64_t{99});
  payload.number(uint16_t{0}).text(context);
  if (context == "@<>+@str")
    payload.text("why it ended");
  frame x{header_of(basp::op::down_message), payload.done()};
  x.head.source_actor = 3;
  return x;
}

frame heartbeat() {
  return {header_of(basp::op::heartbeat), {}};
}

frame probe() {
  auto x = message("@<>+@atom+@atom+@str", basp::atom_number("SpawnServ"));
  x.head.flags = basp::named_receiver_flag;
  return x;
}

// -- the guard under test -----------------------------------------------------

struct guarded {
  explicit guarded(peer_role role) : guard(role, node_key_of(us), table) {
    table->allow(known_actor, {"batch", "@atom+batch"});
  }

  /// Sends a frame; the size in the header follows the payload.
  frame_action send(frame x) {
    x.head.payload_size = static_cast<uint32_t>(x.payload.size());
    return send_as_is(x);
  }

  frame_action send_as_is(const frame& x) {
    auto head = encode(x.head);
    auto verdict =
      guard.header(std::span<const std::byte, basp::header_size>{head});
    reason = verdict.reason;
    if (verdict.action == frame_action::close || x.head.payload_size == 0)
      return verdict.action;
    verdict = guard.payload(x.payload);
    reason = verdict.reason;
    return verdict.action;
  }

  std::shared_ptr<allow_table> table = std::make_shared<allow_table>();
  frame_guard guard;
  std::string reason;
};

guarded as_head() {
  guarded x{peer_role::node};
  BOOST_TEST((x.send(handshake()) == frame_action::deliver));
  return x;
}

guarded as_node() {
  guarded x{peer_role::head};
  BOOST_TEST((x.send(server_handshake()) == frame_action::deliver));
  return x;
}

frame with(frame x, const std::function<void(frame&)>& change) {
  change(x);
  return x;
}

struct broken {
  const char* name;
  frame content;
};

} // namespace

BOOST_AUTO_TEST_SUITE(guard_of_frames)

BOOST_AUTO_TEST_CASE(a_valid_conversation_with_a_node_passes) {
  auto x = as_head();
  BOOST_TEST(x.guard.handshaken());
  BOOST_TEST((x.guard.peer() == node_key_of(them)));
  BOOST_TEST(
    (x.send(handshake(basp::select_connection_flag)) == frame_action::deliver));
  BOOST_TEST((x.send(probe()) == frame_action::drop));
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST((x.send(message("@<>+batch")) == frame_action::deliver));
    BOOST_TEST((x.send(message("@<>+@atom+batch")) == frame_action::deliver));
    BOOST_TEST((x.send(monitor()) == frame_action::deliver));
    BOOST_TEST((x.send(down()) == frame_action::deliver));
    BOOST_TEST((x.send(down("@<>+@str")) == frame_action::deliver));
    BOOST_TEST((x.send(heartbeat()) == frame_action::deliver));
  }
}

BOOST_AUTO_TEST_CASE(a_valid_conversation_with_a_head_passes) {
  auto x = as_node();
  BOOST_TEST((x.send(probe()) == frame_action::drop));
  BOOST_TEST((x.send(message("@<>+batch")) == frame_action::deliver));
  BOOST_TEST((x.send(heartbeat()) == frame_action::deliver));
}

BOOST_AUTO_TEST_CASE(nothing_passes_before_the_handshake) {
  for (const auto& x : {message("@<>+batch"), monitor(), down(), heartbeat(),
                        probe(), server_handshake()})
    BOOST_TEST((guarded{peer_role::node}.send(x) == frame_action::close));
  for (const auto& x : {message("@<>+batch"), monitor(), down(), heartbeat(),
                        probe(), handshake()})
    BOOST_TEST((guarded{peer_role::head}.send(x) == frame_action::close));
}

BOOST_AUTO_TEST_CASE(every_broken_client_handshake_closes) {
  auto base = handshake();
  const broken table[]{
    {"no payload", with(base, [](auto& x) { x.payload = {}; })},
    {"select flag first", handshake(basp::select_connection_flag)},
    {"other flags", handshake(0x80)},
    {"data", with(base, [](auto& x) { x.head.data = 1; })},
    {"source", with(base, [](auto& x) { x.head.source_actor = 1; })},
    {"destination", with(base, [](auto& x) { x.head.dest_actor = 1; })},
    {"padding 1", with(base, [](auto& x) { x.head.padding1 = 1; })},
    {"padding 2", with(base, [](auto& x) { x.head.padding2 = 1; })},
    {"cut node", with(base, [](auto& x) { x.payload.pop_back(); })},
    {"a byte more",
     with(base, [](auto& x) { x.payload.push_back(std::byte{0}); })},
    {"too large", with(base,
                       [](auto& x) {
                         x.payload.resize(frame_limits{}.handshake_bytes + 1);
                       })},
    {"our own id",
     with(base, [](auto& x) { x.payload = frame_builder{}.node(us).done(); })},
    {"no id", with(base,
                   [](auto& x) {
                     x.payload =
                       frame_builder{}.number(basp::atom_number("")).done();
                   })},
    {"id by address",
     with(base,
          [](auto& x) {
            x.payload = frame_builder{}.number(basp::atom_number("uri")).done();
            x.payload.resize(32);
          })},
    {"process 0",
     with(base, [](auto& x) { x.payload = frame_builder{}.node(0).done(); })},
    {"host 0", with(base,
                    [](auto& x) {
                      std::fill(x.payload.begin() + 12, x.payload.end(),
                                std::byte{0});
                    })},
  };
  for (const auto& row : table) {
    guarded x{peer_role::node};
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST((x.send(row.content) == frame_action::close));
      BOOST_TEST(!x.guard.handshaken());
      BOOST_TEST(!x.reason.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(every_broken_server_handshake_closes) {
  auto base = server_handshake();
  auto payload = [&](byte_vector x) {
    return with(base, [&](auto& f) { f.payload = std::move(x); });
  };
  std::vector<broken> table{
    {"other version", with(base, [](auto& x) { x.head.data = 4; })},
    {"flags", with(base, [](auto& x) { x.head.flags = 1; })},
    {"our own id", payload(frame_builder{}
                             .node(us)
                             .length(0)
                             .number(uint64_t{7})
                             .length(0)
                             .done())},
    {"endless length",
     payload(frame_builder{}.node(them).raw("\xFF\xFF\xFF\xFF\xFF").done())},
    {"4 Gi texts",
     payload(frame_builder{}.node(them).length(0xFFFFFFFF).text("x").done())},
    {"lying text",
     payload(frame_builder{}.node(them).length(1).length(900).done())},
    {"a byte more",
     with(base, [](auto& x) { x.payload.push_back(std::byte{0}); })},
  };
  for (size_t size = 1; size < base.payload.size(); ++size)
    table.push_back(
      {"cut", with(base, [&](auto& x) { x.payload.resize(size); })});
  for (const auto& row : table) {
    guarded x{peer_role::head};
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST((x.send(row.content) == frame_action::close));
    }
  }
  auto again = as_node();
  BOOST_TEST((again.send(base) == frame_action::close));
}

BOOST_AUTO_TEST_CASE(a_handshake_repeats_once_with_the_same_id) {
  auto select = handshake(basp::select_connection_flag);
  {
    auto x = as_head();
    BOOST_TEST((x.send(handshake()) == frame_action::close));
  }
  {
    auto x = as_head();
    select.payload = frame_builder{}.node(them + 1).done();
    BOOST_TEST((x.send(select) == frame_action::close));
  }
  {
    auto x = as_head();
    select.payload = frame_builder{}.node(them).done();
    BOOST_TEST((x.send(select) == frame_action::deliver));
    BOOST_TEST((x.send(select) == frame_action::close));
  }
}

BOOST_AUTO_TEST_CASE(every_forbidden_or_broken_message_closes) {
  auto base = message("@<>+batch");
  auto payload = [&](byte_vector x) {
    return with(base, [&](auto& f) { f.payload = std::move(x); });
  };
  const broken table[]{
    {"exit", message("@<>+@exit")},
    {"down", message("@<>+@down")},
    {"nested", message("@<>+@message")},
    {"nested beside", message("@<>+batch+@message")},
    {"error", message("@<>+@error")},
    {"link", message("@<>+@atom+@strong_actor_ptr")},
    {"sys", message("@<>+@atom+@atom+@str")},
    {"timeout", message("@<>+@timeout")},
    {"stream", message("@<>+@open_stream_msg")},
    {"byte vector", message("@<>+@charbuf")},
    {"other type", message("@<>+unknown")},
    {"prefix of a type", message("@<>+batc")},
    {"two batches", message("@<>+batch+batch")},
    {"empty name", message("@<>+")},
    {"trailing plus", message("@<>+batch+")},
    {"empty message", message("@<>")},
    {"no prefix", message("batch")},
    {"long names", message("@<>+" + std::string(300, 'x'))},
    {"no payload", payload({})},
    {"no names", payload(frame_builder{}.length(0).done())},
    {"type number",
     payload(
       frame_builder{}.length(0).number(uint16_t{7}).text("@<>+batch").done())},
    {"stack", payload(frame_builder{}
                        .length(1)
                        .node(them)
                        .number(uint16_t{0})
                        .text("@<>+batch")
                        .done())},
    {"lying names", payload(frame_builder{}
                              .length(0)
                              .number(uint16_t{0})
                              .length(200)
                              .text("@<>+batch")
                              .done())},
    {"nowhere", with(base, [](auto& x) { x.head.dest_actor = 0; })},
    {"named",
     with(base, [](auto& x) { x.head.flags = basp::named_receiver_flag; })},
    {"config server", with(probe(),
                           [](auto& x) {
                             x.head.dest_actor =
                               basp::atom_number("ConfigServ");
                           })},
    {"flags", with(base, [](auto& x) { x.head.flags = 4; })},
    {"routed", with(base,
                    [](auto& x) {
                      x.head.op =
                        static_cast<uint8_t>(basp::op::routed_message);
                    })},
    {"operation 7", with(base, [](auto& x) { x.head.op = 7; })},
    {"operation 255", with(base, [](auto& x) { x.head.op = 255; })},
    {"padding", with(base, [](auto& x) { x.head.padding1 = 9; })},
  };
  for (const auto& row : table) {
    auto x = as_head();
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST((x.send(row.content) == frame_action::close));
      BOOST_TEST(!x.reason.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_are_judged_by_the_header_alone) {
  auto refused = [](frame x, uint32_t size) {
    auto guard = as_head();
    x.head.payload_size = size;
    auto head = encode(x.head);
    auto verdict =
      guard.guard.header(std::span<const std::byte, basp::header_size>{head});
    return verdict.action == frame_action::close;
  };
  BOOST_TEST(refused(message("@<>+batch"), 0xFFFFFFFF));
  const frame_limits limits;
  BOOST_TEST(refused(message("@<>+batch"), limits.message_bytes + 1));
  BOOST_TEST(!refused(message("@<>+batch"), limits.message_bytes));
  BOOST_TEST(refused(monitor(), limits.control_bytes + 1));
  BOOST_TEST(refused(down(), limits.control_bytes + 1));
  BOOST_TEST(refused(probe(), limits.control_bytes + 1));
  BOOST_TEST(refused(heartbeat(), 1));
}

BOOST_AUTO_TEST_CASE(every_broken_monitor_down_or_heartbeat_closes) {
  auto other = frame_builder{}.node(them + 1).node(us).done();
  auto route = frame_builder{}.node(them).node(them + 1).done();
  const broken table[]{
    {"monitor for a third",
     with(monitor(), [&](auto& x) { x.payload = route; })},
    {"monitor by a third",
     with(monitor(), [&](auto& x) { x.payload = other; })},
    {"monitor, cut", with(monitor(), [](auto& x) { x.payload.pop_back(); })},
    {"monitor, tail",
     with(monitor(), [](auto& x) { x.payload.push_back(std::byte{0}); })},
    {"monitor, data", with(monitor(), [](auto& x) { x.head.data = 1; })},
    {"monitor, flags", with(monitor(), [](auto& x) { x.head.flags = 1; })},
    {"monitor of nobody",
     with(monitor(), [](auto& x) { x.head.dest_actor = 0; })},
    {"monitor from an actor",
     with(monitor(), [](auto& x) { x.head.source_actor = 3; })},
    {"monitor, empty", with(monitor(), [](auto& x) { x.payload = {}; })},
    {"down of nobody", with(down(), [](auto& x) { x.head.source_actor = 0; })},
    {"down, nested", down("@<>+@message")},
    {"down, error in error", down("@<>+@error")},
    {"down, cut", with(down(), [](auto& x) { x.payload.pop_back(); })},
    {"down, tail",
     with(down(), [](auto& x) { x.payload.push_back(std::byte{0}); })},
    {"heartbeat, data", with(heartbeat(), [](auto& x) { x.head.data = 1; })},
    {"heartbeat, flags", with(heartbeat(), [](auto& x) { x.head.flags = 1; })},
    {"heartbeat, actor",
     with(heartbeat(), [](auto& x) { x.head.dest_actor = 1; })},
  };
  for (const auto& row : table) {
    auto x = as_head();
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST((x.send(row.content) == frame_action::close));
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_to_actors_that_ended_are_dropped) {
  auto x = as_head();
  BOOST_TEST((x.send(message("@<>+batch", 1234)) == frame_action::drop));
  x.table->revoke(known_actor);
  BOOST_TEST((x.send(message("@<>+batch")) == frame_action::drop));
  BOOST_TEST((x.send(message("@<>+@exit")) == frame_action::close));
  x.table->allow(known_actor, {"batch"});
  BOOST_TEST((x.send(message("@<>+batch")) == frame_action::deliver));
}

BOOST_AUTO_TEST_CASE(the_spawn_server_may_be_asked_once) {
  auto x = as_head();
  BOOST_TEST((x.send(probe()) == frame_action::drop));
  BOOST_TEST((x.send(probe()) == frame_action::close));
}

BOOST_AUTO_TEST_CASE(a_payload_of_another_size_closes) {
  auto x = as_head();
  auto f = message("@<>+batch");
  f.head.payload_size = static_cast<uint32_t>(f.payload.size() + 1);
  BOOST_TEST((x.send_as_is(f) == frame_action::close));
}

BOOST_AUTO_TEST_CASE(random_frames_never_pass_as_something_forbidden) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const frame originals[]{handshake(), message("@<>+batch"), monitor(),
                          down("@<>+@str"), probe()};
  for (int round = 0; round < 20'000; ++round) {
    guarded x{peer_role::node};
    x.send(handshake());
    auto f = originals[random() % 5];
    f.head.payload_size = static_cast<uint32_t>(f.payload.size());
    auto head = encode(f.head);
    for (unsigned i = 0, n = random() % 4; i < n; ++i)
      head[random() % head.size()] = static_cast<std::byte>(random());
    for (unsigned i = 0, n = random() % 4; i < n; ++i)
      f.payload[random() % f.payload.size()] = static_cast<std::byte>(random());
    auto verdict =
      x.guard.header(std::span<const std::byte, basp::header_size>{head});
    if (verdict.action == frame_action::close)
      continue;
    BOOST_TEST(x.guard.payload_size() <= frame_limits{}.message_bytes);
    if (x.guard.payload_size() > 0)
      x.guard.payload(f.payload);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(table_of_allowed_messages)

BOOST_AUTO_TEST_CASE(an_entry_of_its_own_beats_what_everybody_may) {
  allow_table table;
  table.allow_any({"ping"});
  table.allow(5, {"batch"});
  using answer = allow_table::answer;
  BOOST_TEST((table.check(5, "batch") == answer::allowed));
  BOOST_TEST((table.check(5, "ping") == answer::wrong_type));
  BOOST_TEST((table.check(6, "ping") == answer::allowed));
  BOOST_TEST((table.check(6, "batch") == answer::unknown_destination));
}

BOOST_AUTO_TEST_CASE(what_can_harm_any_actor_is_forbidden_in_any_company) {
  for (auto name :
       {"@exit", "@down", "@message", "@error", "float", "double", "a+@exit",
        "@exit+a", "a+@message+b", "", "a+", "+a", "@atom+@strong_actor_ptr"})
    BOOST_TEST(allow_table::forbidden(name));
  for (auto name : {"batch", "@atom+batch", "@u64", "@atom+@actor"})
    BOOST_TEST(!allow_table::forbidden(name));
}

BOOST_AUTO_TEST_SUITE_END()
