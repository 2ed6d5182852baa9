#include "actors/dispatch/dispatch_core.hpp"

#include "runtime/placement/policies.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <deque>
#include <random>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr layer_index layer{2};
constexpr uint32_t hidden = 4;
constexpr uint32_t experts = 8;
const time_point t0 = time_point{} + 1h;

/// A cluster of `nodes` nodes, a pass to dispatch, and scripted arithmetic: the
/// output of a pair is filled with 1000 * row + expert.
class dispatch_fixture {
public:
  explicit dispatch_fixture(uint32_t nodes, dispatch_options options = {})
    : core(prepare(options), ids) {
    std::vector<node_id> slots;
    for (uint32_t i = 1; i <= nodes; ++i) {
      slots.push_back(node_id{i});
      view.nodes.push_back(
        {node_id{i}, "w" + std::to_string(i), node_state::alive, 100 + i});
    }
    auto map = make_shard_map({}, slots, {layer}, experts, 5);
    view.map = std::make_shared<const shard_map>(std::move(map.value()));
  }

  static dispatch_options prepare(dispatch_options x) {
    x.layer = layer;
    x.hidden_size = hidden;
    x.reply_type = kernels::dtype::f32;
    x.head_incarnation = 77;
    x.deadline = {100ms, 1s, 4.0, 8};
    return x;
  }

  /// Row r of the pass holds the number r in every column.
  dispatch_request request(uint64_t pass, std::vector<uint32_t> chosen,
                           uint32_t top_k) {
    auto rows = std::make_shared<hidden_rows>(chosen.size() / top_k, hidden,
                                              kernels::dtype::f32);
    for (size_t i = 0; i < rows->rows; ++i)
      for (size_t j = 0; j < hidden; ++j) {
        auto value = static_cast<float>(i);
        std::memcpy(rows->row(i) + j * sizeof value, &value, sizeof value);
      }
    auto moe = std::make_shared<moe_request>();
    moe->pass = pass_id{pass};
    moe->layer = layer;
    moe->rows = rows;
    auto choice = std::make_shared<routing>();
    choice->top_k = top_k;
    choice->weights.assign(chosen.size(), 0.5f);
    choice->experts = std::move(chosen);
    return {moe, choice, {}};
  }

  /// Computes `batch` as a shard does, from pair `first` on.
  static expert_reply answer(const expert_batch& batch, uint32_t first = 0,
                             uint32_t count = UINT32_MAX) {
    auto pairs = batch.pairs.as<expert_pair>();
    auto rows = batch.rows.as<float>();
    count = std::min(count, batch.header.pairs - first);
    std::vector<float> out;
    for (auto& pair : pairs.subspan(first, count))
      for (uint32_t j = 0; j < hidden; ++j)
        out.push_back(1000 * rows[pair.row * hidden] +
                      static_cast<float>(pair.expert.value));
    expert_reply x;
    x.batch = batch.header.batch;
    x.node_incarnation = batch.header.node_incarnation;
    x.layer = batch.header.layer;
    x.first = first;
    x.outputs = shared_bytes::copy_of_values<float>(out);
    return x;
  }

  static expert_reply refusal(const expert_batch& batch) {
    auto x = answer(batch, 0, 1);
    x.outputs = {};
    x.failure = static_cast<uint8_t>(ec::overloaded);
    x.message = "busy";
    return x;
  }

  /// Checks every pair's output and weight of a finished pass.
  static void check(const moe_done& x, const dispatch_request& asked) {
    BOOST_REQUIRE(x.response != nullptr);
    auto& choice = *asked.choice;
    BOOST_REQUIRE(x.response->pairs.size() == choice.pairs());
    for (size_t i = 0; i < choice.pairs(); ++i) {
      float value = 0;
      BOOST_REQUIRE(x.response->pairs[i] != nullptr);
      std::memcpy(&value, x.response->pairs[i], sizeof value);
      auto row = i / choice.top_k;
      BOOST_TEST(value == 1000 * static_cast<float>(row) +
                            static_cast<float>(choice.experts[i]));
    }
    size_t counted = 0;
    for (auto& row : x.rows)
      counted += size_t{row.local} + row.remote + row.rerouted;
    BOOST_TEST(counted == choice.pairs());
  }

  cluster_snapshot view;
  std::atomic<uint64_t> ids{0};
  dispatch_core core;
};

} // namespace

BOOST_AUTO_TEST_SUITE(dispatch_core_suite)

BOOST_AUTO_TEST_CASE(a_pass_is_done_when_every_batch_is_answered) {
  dispatch_fixture x{2};
  auto asked = x.request(1, {0, 1, 2, 3}, 2);
  auto sent = x.core.start(t0, asked, x.view);
  BOOST_REQUIRE(sent.send.size() == 2u);
  auto& header = sent.send[0].batch.header;
  BOOST_TEST(header.head_incarnation == 77u);
  BOOST_TEST(header.node_incarnation == 101u);
  BOOST_TEST(header.map_version == 5u);
  BOOST_TEST(header.pass == 1u);
  auto first = x.core.reply(t0, x.answer(sent.send[1].batch), x.view);
  BOOST_TEST(first.done.empty());
  auto second = x.core.reply(t0, x.answer(sent.send[0].batch), x.view);
  BOOST_REQUIRE(second.done.size() == 1u);
  x.check(second.done[0], asked);
  BOOST_TEST(x.core.open_batches() == 0u);
}

BOOST_AUTO_TEST_CASE(only_the_rows_a_node_needs_are_sent_to_it) {
  dispatch_fixture x{2};
  auto sent = x.core.start(t0, x.request(1, {0, 1, 2}, 1), x.view);
  BOOST_REQUIRE(sent.send.size() == 2u);
  BOOST_TEST(sent.send[0].batch.header.rows == 2u);
  BOOST_TEST(sent.send[0].batch.rows.as<float>()[hidden] == 2.0f);
  BOOST_TEST(sent.send[1].batch.header.rows == 1u);
}

BOOST_AUTO_TEST_CASE(a_reply_in_pieces_counts_piece_by_piece) {
  dispatch_fixture x{1};
  auto asked = x.request(1, {0, 1, 2, 3}, 2);
  auto sent = x.core.start(t0, asked, x.view);
  auto& batch = sent.send.at(0).batch;
  BOOST_TEST(x.core.reply(t0, x.answer(batch, 3, 1), x.view).done.empty());
  BOOST_TEST(x.core.reply(t0, x.answer(batch, 3, 1), x.view).done.empty());
  auto last = x.core.reply(t0, x.answer(batch, 0, 3), x.view);
  BOOST_REQUIRE(last.done.size() == 1u);
  x.check(last.done[0], asked);
}

BOOST_AUTO_TEST_CASE(a_late_batch_is_rerouted_and_blames_its_node) {
  dispatch_fixture x{2};
  auto asked = x.request(1, {0, 1}, 2);
  auto sent = x.core.start(t0, asked, x.view);
  x.core.reply(t0, x.answer(sent.send[0].batch), x.view);
  BOOST_TEST(x.core.expire(t0 + 999ms, x.view).send.empty());
  auto late = x.core.expire(t0 + 1s, x.view);
  BOOST_REQUIRE(late.late.size() == 1u);
  BOOST_TEST((late.late[0].node == node_id{2}));
  BOOST_REQUIRE(late.send.size() == 1u);
  BOOST_TEST((late.send[0].destination == local_node));
  BOOST_TEST(late.send[0].batch.header.attempt == 1u);
  // What the hung node answers after all is nobody's any more.
  auto zombie = x.core.reply(t0 + 1s, x.answer(sent.send[1].batch), x.view);
  BOOST_TEST(zombie.done.empty());
  BOOST_TEST(x.core.dropped_replies() == 1u);
  auto done = x.core.reply(t0 + 1s, x.answer(late.send[0].batch), x.view);
  BOOST_REQUIRE(done.done.size() == 1u);
  x.check(done.done[0], asked);
  BOOST_TEST(done.done[0].failures == 1u);
  BOOST_TEST(done.done[0].rows[0].rerouted == 1u);
}

BOOST_AUTO_TEST_CASE(the_batches_of_a_lost_node_are_rerouted_at_once) {
  dispatch_fixture x{2};
  auto asked = x.request(1, {0, 1}, 2);
  auto sent = x.core.start(t0, asked, x.view);
  x.view.nodes[1].state = node_state::dead;
  // Of another incarnation: nothing happens.
  BOOST_TEST(x.core.node_lost(t0, {node_id{2}, 99}, x.view).send.empty());
  auto lost = x.core.node_lost(t0, {node_id{2}, 102}, x.view);
  BOOST_REQUIRE(lost.send.size() == 1u);
  BOOST_TEST((lost.send[0].destination == local_node));
}

BOOST_AUTO_TEST_CASE(pairs_that_were_answered_are_not_computed_again) {
  dispatch_fixture x{1};
  auto asked = x.request(1, {0, 1, 2, 3}, 4);
  auto sent = x.core.start(t0, asked, x.view);
  x.core.reply(t0, x.answer(sent.send[0].batch, 0, 3), x.view);
  x.view.nodes[0].state = node_state::dead;
  auto lost = x.core.node_lost(t0, {node_id{1}, 101}, x.view);
  BOOST_REQUIRE(lost.send.size() == 1u);
  BOOST_TEST(lost.send[0].batch.header.pairs == 1u);
  auto done = x.core.reply(t0, x.answer(lost.send[0].batch), x.view);
  BOOST_REQUIRE(done.done.size() == 1u);
  x.check(done.done[0], asked);
}

BOOST_AUTO_TEST_CASE(without_fallback_a_lost_node_fails_the_pass) {
  dispatch_options options;
  options.fallback = local_fallback::no;
  dispatch_fixture x{2, options};
  x.core.start(t0, x.request(1, {0, 1}, 2), x.view);
  x.view.nodes[1].state = node_state::dead;
  auto lost = x.core.node_lost(t0, {node_id{2}, 102}, x.view);
  BOOST_REQUIRE(lost.done.size() == 1u);
  BOOST_TEST((lost.done[0].failure->code == ec::node_down));
  BOOST_TEST(x.core.open_batches() == 0u);
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_local_experts_fails_the_pass) {
  dispatch_fixture x{0};
  auto sent = x.core.start(t0, x.request(1, {0, 1}, 2), x.view);
  auto failed = x.core.reply(t0, x.refusal(sent.send.at(0).batch), x.view);
  BOOST_REQUIRE(failed.done.size() == 1u);
  BOOST_TEST(failed.done[0].failure->message == "busy");
}

BOOST_AUTO_TEST_CASE(replies_that_lie_end_their_batch_and_crash_nothing) {
  auto broken = [](auto breaks) {
    dispatch_fixture x{1};
    auto asked = x.request(1, {0, 1, 2, 3}, 4);
    auto sent = x.core.start(t0, asked, x.view);
    auto reply = x.answer(sent.send[0].batch);
    breaks(reply);
    auto effects = x.core.reply(t0, reply, x.view);
    BOOST_TEST(effects.done.empty());
    return effects.outcomes.size();
  };
  // Not ours: dropped.
  BOOST_TEST(broken([](auto& r) { r.batch = 99; }) == 0u);
  BOOST_TEST(broken([](auto& r) { r.node_incarnation = 1; }) == 0u);
  BOOST_TEST(broken([](auto& r) { r.layer = 7; }) == 0u);
  // Ours, but wrong: the node refused, in effect.
  BOOST_TEST(broken([](auto& r) { r.first = 1; }) == 1u);
  BOOST_TEST(broken([](auto& r) { r.first = UINT32_MAX; }) == 1u);
  BOOST_TEST(broken([](auto& r) { r.outputs = {}; }) == 1u);
  BOOST_TEST(broken([](auto& r) { r.outputs = r.outputs.slice(0, 7); }) == 1u);
  BOOST_TEST(broken([](auto& r) { r.failure = 200; }) == 1u);
}

BOOST_AUTO_TEST_CASE(a_node_that_refuses_is_not_asked_again) {
  dispatch_fixture x{1};
  auto asked = x.request(1, {0, 1}, 2);
  auto sent = x.core.start(t0, asked, x.view);
  auto refused = x.core.reply(t0, x.refusal(sent.send[0].batch), x.view);
  BOOST_REQUIRE(refused.late.size() == 1u);
  BOOST_REQUIRE(refused.send.size() == 1u);
  BOOST_TEST((refused.send[0].destination == local_node));
}

BOOST_AUTO_TEST_CASE(many_losses_at_once_end_at_the_local_experts) {
  dispatch_fixture x{8};
  auto asked = x.request(1, {0, 1, 2, 3, 4, 5, 6, 7}, 8);
  auto effects = x.core.start(t0, asked, x.view);
  BOOST_TEST(effects.send.size() == 8u);
  // Nodes that die and come back, again and again.
  for (int round = 0; round < 4; ++round)
    for (auto& node : x.view.nodes) {
      node.state = node_state::dead;
      x.core.node_lost(t0, {node.id, node.incarnation}, x.view);
      node.state = node_state::alive;
      ++node.incarnation;
    }
  BOOST_TEST(x.core.open_batches() > 0u);
  auto last = x.core.expire(t0 + 1s, x.view);
  for (auto& batch : last.send)
    BOOST_TEST((batch.destination == local_node));
}

BOOST_AUTO_TEST_CASE(a_pass_that_is_asked_again_starts_afresh) {
  dispatch_fixture x{1};
  auto asked = x.request(1, {0, 1}, 2);
  auto first = x.core.start(t0, asked, x.view);
  auto second = x.core.start(t0, asked, x.view);
  BOOST_TEST(
    x.core.reply(t0, x.answer(first.send[0].batch), x.view).done.empty());
  auto done = x.core.reply(t0, x.answer(second.send[0].batch), x.view);
  BOOST_REQUIRE(done.done.size() == 1u);
  x.check(done.done[0], asked);
}

BOOST_AUTO_TEST_CASE(every_pass_ends_once_whatever_happens) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 rng{seed};
  for (int round = 0; round < 300; ++round) {
    dispatch_fixture x{static_cast<uint32_t>(rng() % 4)};
    auto now = t0;
    std::vector<dispatch_request> asked;
    std::vector<int> ends;
    std::deque<expert_batch> open;
    auto take = [&](dispatch_effects effects) {
      for (auto& batch : effects.send)
        open.push_back(std::move(batch.batch));
      for (auto& done : effects.done) {
        ++ends[done.pass.value];
        x.check(done, asked[done.pass.value]);
      }
    };
    for (uint64_t pass = 0; pass < 3; ++pass) {
      std::vector<uint32_t> chosen((1 + rng() % 5) * 2);
      for (auto& expert : chosen)
        expert = static_cast<uint32_t>(rng() % experts);
      asked.push_back(x.request(pass, std::move(chosen), 2));
      ends.push_back(0);
      take(x.core.start(now, asked.back(), x.view));
    }
    for (int step = 0; step < 400 && x.core.open_batches() > 0; ++step) {
      auto action = step < 200 ? rng() % 6 : 0;
      if (action <= 2 && !open.empty()) {
        std::swap(open.front(), open[rng() % open.size()]);
        auto batch = open.front();
        open.pop_front();
        // The head's own experts neither lose nor refuse anything.
        auto remote = batch.header.node_incarnation != 0;
        if (action == 2 && remote)
          take(x.core.reply(now, x.refusal(batch), x.view));
        else if (action == 1 && remote)
          continue;
        else
          take(x.core.reply(now, x.answer(batch), x.view));
      } else if (action == 3 && !x.view.nodes.empty()) {
        auto& node = x.view.nodes[rng() % x.view.nodes.size()];
        node.state = node_state::dead;
        take(x.core.node_lost(now, {node.id, node.incarnation}, x.view));
        node.state = node_state::alive;
        ++node.incarnation;
      } else {
        now += 300ms;
        take(x.core.expire(now, x.view));
      }
    }
    for (auto count : ends)
      BOOST_TEST(count == 1, "seed " << seed << " round " << round);
  }
}

BOOST_AUTO_TEST_SUITE_END()
