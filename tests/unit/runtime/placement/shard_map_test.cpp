// The shard map as a value: what it answers and what it refuses.
#include "runtime/placement/shard_map.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

constexpr node_id a{1};
constexpr node_id b{2};

/// Layers 1 and 3, two experts each.
shard_map sample() {
  auto map = shard_map::make(5, {layer_index{1}, layer_index{3}}, 2,
                             {{a}, {b, a}, {local_node}, {b}});
  BOOST_TEST_REQUIRE(map.has_value());
  return *map;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shard_maps)

BOOST_AUTO_TEST_CASE(replicas_keep_their_order_of_preference) {
  const auto map = sample();
  const auto nodes = map.replicas(layer_index{1}, expert_id{1});
  BOOST_TEST_REQUIRE(nodes.size() == 2u);
  BOOST_TEST((nodes[0] == b && nodes[1] == a));
}

BOOST_AUTO_TEST_CASE(dense_layers_have_no_row) {
  const auto map = sample();
  BOOST_TEST(!map.has(layer_index{0}));
  BOOST_TEST(map.has(layer_index{1}));
  BOOST_TEST(!map.has(layer_index{2}));
  BOOST_TEST(map.has(layer_index{3}));
  BOOST_TEST(!map.has(layer_index{4}));
}

BOOST_AUTO_TEST_CASE(experts_of_a_node_ascend) {
  const auto map = sample();
  const auto experts = map.experts_of(a, layer_index{1});
  BOOST_TEST_REQUIRE(experts.size() == 2u);
  BOOST_TEST((experts[0] == expert_id{0} && experts[1] == expert_id{1}));
  BOOST_TEST(map.experts_of(a, layer_index{3}).empty());
}

BOOST_AUTO_TEST_CASE(nodes_are_named_once) {
  const auto nodes = sample().nodes();
  BOOST_TEST_REQUIRE(nodes.size() == 3u);
  BOOST_TEST((nodes[0] == local_node && nodes[1] == a && nodes[2] == b));
}

BOOST_AUTO_TEST_CASE(an_expert_that_loses_its_only_replica_becomes_local) {
  const auto map = sample().without(b, 6);
  BOOST_TEST(map.version() == 6u);
  BOOST_TEST((map.replicas(layer_index{1}, expert_id{1})[0] == a));
  BOOST_TEST((map.replicas(layer_index{3}, expert_id{1})[0] == local_node));
  BOOST_TEST((map.replicas(layer_index{1}, expert_id{0})[0] == a));
}

BOOST_AUTO_TEST_CASE(a_map_that_does_not_fit_is_refused) {
  const layer_index l0{0};
  const layer_index l1{1};
  const auto refused = [](result<shard_map> x, std::string_view part) {
    BOOST_TEST_REQUIRE(!x.has_value());
    BOOST_TEST(x.error().message.find(part) != std::string::npos,
               x.error().message);
  };
  refused(shard_map::make(1, {l0}, 2, {{a}}), "found 1");
  refused(shard_map::make(1, {l1, l0}, 1, {{a}, {a}}), "must ascend");
  refused(shard_map::make(1, {l0, l0}, 1, {{a}, {a}}), "must ascend");
  refused(shard_map::make(1, {l1}, 2, {{a}, {}}), "expert 1 of layer 1");
  refused(shard_map::make(1, {l0}, 1, {{a, b, a}}), "node 1 twice");
}

BOOST_AUTO_TEST_SUITE_END()
