// Which policy gives which expert to which node, and what is refused.
#include "runtime/placement/policies.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>

using namespace troupe;

namespace {

std::vector<uint32_t> values(const std::vector<node_id>& nodes) {
  std::vector<uint32_t> out;
  for (auto x : nodes)
    out.push_back(x.value);
  return out;
}

std::vector<node_id> nodes(std::initializer_list<uint32_t> ids) {
  std::vector<node_id> out;
  for (auto x : ids)
    out.emplace_back(x);
  return out;
}

using list = std::vector<uint32_t>;

std::string refusal(std::string_view text) {
  const auto spec = parse_placement(text);
  BOOST_TEST_REQUIRE(!spec.has_value(), text);
  BOOST_TEST((spec.error().code == ec::invalid_argument));
  return spec.error().message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(policies)

BOOST_AUTO_TEST_CASE(round_robin_deals_experts_in_turn) {
  BOOST_TEST(values(place_round_robin(nodes({1, 2}), 8)) ==
               list({1, 2, 1, 2, 1, 2, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(values(place_round_robin(nodes({3, 0, 4}), 4)) ==
               list({3, 0, 4, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(weighted_gives_contiguous_shares_in_proportion) {
  const std::vector<double> three_to_one{3, 1};
  BOOST_TEST(values(place_weighted(nodes({1, 2}), three_to_one, 8)) ==
               list({1, 1, 1, 1, 1, 1, 2, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_largest_remainder_gets_the_odd_expert) {
  // Exact shares 1.25, 1.75, 2: the second slot is rounded up.
  const std::vector<double> weights{1.25, 1.75, 2};
  BOOST_TEST(values(place_weighted(nodes({1, 2, 3}), weights, 5)) ==
               list({1, 2, 2, 3, 3}),
             boost::test_tools::per_element());
  // All remainders equal: the earlier slots win.
  const std::vector<double> equal{1, 1, 1};
  BOOST_TEST(values(place_weighted(nodes({1, 2, 3}), equal, 5)) ==
               list({1, 1, 2, 2, 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_slot_of_weight_zero_gets_nothing) {
  const std::vector<double> weights{0, 1, 0};
  BOOST_TEST(values(place_weighted(nodes({1, 2, 3}), weights, 3)) ==
               list({2, 2, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_weights_place_every_expert_near_its_share) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  std::uniform_real_distribution<double> weight{0.01, 10};
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<node_id> slots;
    std::vector<double> weights;
    double total = 0;
    for (uint32_t i = 0; i <= random() % 7; ++i) {
      slots.emplace_back(i + 1);
      total += weights.emplace_back(weight(random));
    }
    const auto experts = static_cast<uint32_t>(random() % 300);
    const auto owner = place_weighted(slots, weights, experts);
    BOOST_TEST_REQUIRE(owner.size() == experts);
    BOOST_TEST(std::is_sorted(owner.begin(), owner.end()));
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto share = std::count(owner.begin(), owner.end(), slots[i]);
      const double exact = weights[i] / total * experts;
      BOOST_TEST(std::abs(static_cast<double>(share) - exact) < 1.0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_spec_is_read_and_written) {
  for (std::string_view text :
       {"round_robin", "local", "weighted:1,2", "weighted:0,0.5,3"}) {
    const auto spec = parse_placement(text);
    BOOST_TEST_REQUIRE(spec.has_value(), text);
    BOOST_TEST(to_string(*spec) == text);
  }
  BOOST_TEST(parse_placement("weighted:1,2")->weights ==
               std::vector<double>({1, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_bad_spec_says_what_was_expected) {
  BOOST_TEST(refusal("").find("round_robin") != std::string::npos);
  BOOST_TEST(refusal("roundrobin").find("\"roundrobin\"") != std::string::npos);
  BOOST_TEST(refusal("weighted").find("weighted:1,2") != std::string::npos);
  for (std::string_view text :
       {"weighted:", "weighted:1,", "weighted:,1", "weighted:1,x",
        "weighted:-1,2", "weighted:nan", "weighted:inf,1", "weighted:1 2",
        "weighted:1e400"})
    BOOST_TEST(refusal(text).find("weight >= 0") != std::string::npos, text);
  BOOST_TEST(refusal("weighted:0,0").find("at least one must be positive") !=
             std::string::npos);
  BOOST_TEST(refusal("weighted:1e308,1e308").find("add up") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_layer_of_a_map_is_placed_alike) {
  const auto slots = nodes({1, 2});
  const auto map = make_shard_map(*parse_placement("round_robin"), slots,
                                  {layer_index{0}, layer_index{2}}, 4, 7);
  BOOST_TEST_REQUIRE(map.has_value());
  BOOST_TEST(map->version() == 7u);
  for (auto layer : map->layers()) {
    BOOST_TEST(map->experts_of(node_id{1}, layer).size() == 2u);
    BOOST_TEST(map->replicas(layer, expert_id{3})[0].value == 2u);
  }
}

BOOST_AUTO_TEST_CASE(without_nodes_everything_is_local) {
  for (std::string_view text : {"round_robin", "weighted:1,2", "local"}) {
    const auto map =
      make_shard_map(*parse_placement(text), {}, {layer_index{0}}, 4, 1);
    BOOST_TEST_REQUIRE(map.has_value());
    BOOST_TEST(map->experts_of(local_node, layer_index{0}).size() == 4u);
  }
}

BOOST_AUTO_TEST_CASE(local_ignores_the_nodes) {
  const auto slots = nodes({1, 2});
  const auto map =
    make_shard_map(*parse_placement("local"), slots, {layer_index{0}}, 4, 1);
  BOOST_TEST_REQUIRE(map.has_value());
  BOOST_TEST(values(map->nodes()) == list({0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_weight_is_needed_for_each_node) {
  const auto slots = nodes({1, 2, 3});
  const auto map = make_shard_map(*parse_placement("weighted:1,2"), slots,
                                  {layer_index{0}}, 4, 1);
  BOOST_TEST_REQUIRE(!map.has_value());
  BOOST_TEST(map.error().message.find("2 weights") != std::string::npos);
  BOOST_TEST(map.error().message.find("3 nodes") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
