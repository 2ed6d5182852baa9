#include "actors/dispatch/dispatch_plan.hpp"

#include "runtime/placement/policies.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;

namespace {

constexpr layer_index layer{3};

/// Experts 0..experts-1 round-robin over `nodes` nodes, all alive.
cluster_snapshot make_view(uint32_t nodes, uint32_t experts) {
  cluster_snapshot x;
  std::vector<node_id> slots;
  for (uint32_t i = 1; i <= nodes; ++i) {
    slots.push_back(node_id{i});
    x.nodes.push_back(
      {node_id{i}, "w" + std::to_string(i), node_state::alive, i});
  }
  auto map = make_shard_map({}, slots, {layer}, experts, 1);
  x.map = std::make_shared<const shard_map>(std::move(map.value()));
  return x;
}

std::vector<planned_batch> plan(const cluster_snapshot& view,
                                std::vector<uint32_t> experts, uint32_t k) {
  auto x = plan_dispatch({layer, k, experts}, view, local_fallback::yes);
  BOOST_REQUIRE(x.has_value());
  return std::move(x.value());
}

} // namespace

BOOST_AUTO_TEST_SUITE(dispatch_plan_suite)

BOOST_AUTO_TEST_CASE(each_node_gets_its_rows_once_and_its_pairs_by_expert) {
  auto view = make_view(2, 4); // experts 0, 2 on node 1; 1, 3 on node 2
  auto batches = plan(view, {0, 2, /**/ 1, 3, /**/ 2, 1}, 2);
  BOOST_REQUIRE(batches.size() == 2u);
  auto& first = batches[0];
  BOOST_TEST((first.destination == node_id{1}));
  BOOST_TEST((first.route == pair_route::remote));
  BOOST_TEST(first.rows == (std::vector<uint32_t>{0, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(first.positions == (std::vector<uint32_t>{0, 1, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(first.pairs[2].row == 1u);
  BOOST_TEST(first.pairs[2].expert.value == 2u);
  BOOST_TEST(batches[1].positions == (std::vector<uint32_t>{2, 5, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pairs_of_a_suspect_node_are_rerouted_to_the_head) {
  auto view = make_view(2, 4);
  view.nodes[1].state = node_state::suspect;
  auto batches = plan(view, {0, 1}, 2);
  BOOST_REQUIRE(batches.size() == 2u);
  BOOST_TEST((batches[0].destination == node_id{1}));
  BOOST_TEST((batches[1].destination == local_node));
  BOOST_TEST((batches[1].route == pair_route::rerouted));
}

BOOST_AUTO_TEST_CASE(local_experts_are_counted_apart_from_rerouted_ones) {
  auto view = make_view(1, 4);
  auto map = shard_map::make(
    1, {layer}, 4, {{local_node}, {node_id{1}}, {local_node}, {node_id{1}}});
  view.map = std::make_shared<const shard_map>(std::move(map.value()));
  view.nodes[0].state = node_state::dead;
  auto batches = plan(view, {0, 1}, 2);
  BOOST_REQUIRE(batches.size() == 2u);
  BOOST_TEST((batches[0].route == pair_route::local));
  BOOST_TEST((batches[1].route == pair_route::rerouted));
}

BOOST_AUTO_TEST_CASE(without_fallback_the_error_names_expert_and_node) {
  auto view = make_view(2, 4);
  view.nodes[1].state = node_state::dead;
  std::vector<uint32_t> experts{0, 3};
  auto x = plan_dispatch({layer, 2, experts}, view, local_fallback::no);
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::node_down));
  BOOST_TEST(x.error().message.find("expert 3") != std::string::npos);
  BOOST_TEST(x.error().message.find("w2 (dead)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failed_batch_goes_to_another_replica_that_serves) {
  auto view = make_view(2, 1);
  auto map = shard_map::make(1, {layer}, 1, {{node_id{1}, node_id{2}}});
  view.map = std::make_shared<const shard_map>(std::move(map.value()));
  view.nodes[0].state = node_state::dead;
  std::vector<open_pair> pairs{{4, 0}, {5, 0}};
  auto x = plan_reroute(pairs, layer, 2, view, local_fallback::yes);
  BOOST_REQUIRE(x.has_value());
  BOOST_REQUIRE(x->size() == 1u);
  BOOST_TEST((x->front().destination == node_id{2}));
  BOOST_TEST((x->front().route == pair_route::remote));
}

BOOST_AUTO_TEST_CASE(a_rerouted_row_is_sent_once_whatever_the_order_of_pairs) {
  auto view = make_view(0, 4);
  std::vector<open_pair> pairs{{5, 0}, {0, 1}, {4, 2}, {1, 3}};
  auto x = plan_reroute(pairs, layer, 2, view, local_fallback::yes);
  BOOST_REQUIRE(x.has_value());
  BOOST_REQUIRE(x->size() == 1u);
  BOOST_TEST(x->front().rows == (std::vector<uint32_t>{0, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_pair_is_planned_exactly_once) {
  std::mt19937 rng{std::random_device{}()};
  auto seed = rng();
  BOOST_TEST_MESSAGE("seed " << seed);
  rng.seed(seed);
  for (int round = 0; round < 200; ++round) {
    auto nodes = static_cast<uint32_t>(rng() % 6);
    auto view = make_view(nodes, 16);
    for (auto& node : view.nodes)
      node.state = static_cast<node_state>(rng() % 4);
    auto rows = static_cast<uint32_t>(1 + rng() % 40);
    std::vector<uint32_t> experts(rows * 4);
    for (auto& x : experts)
      x = static_cast<uint32_t>(rng() % 16);
    std::vector<int> seen(experts.size());
    for (auto& batch : plan(view, experts, 4)) {
      BOOST_TEST(view.serves(batch.destination));
      BOOST_TEST(std::is_sorted(batch.rows.begin(), batch.rows.end()));
      for (size_t i = 0; i < batch.pairs.size(); ++i) {
        auto position = batch.positions[i];
        ++seen[position];
        BOOST_TEST(batch.rows[batch.pairs[i].row] == position / 4);
        BOOST_TEST(batch.pairs[i].expert.value == experts[position]);
      }
    }
    BOOST_TEST(
      std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

BOOST_AUTO_TEST_SUITE_END()
