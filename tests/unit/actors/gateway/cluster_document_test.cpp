// The document of GET /cluster.
#include "actors/gateway/cluster_document.hpp"

#include "runtime/placement/policies.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using namespace std::chrono_literals;
using json = nlohmann::json;

namespace {

cluster_report sample() {
  cluster_report x;
  x.head.model = "models/demo";
  x.head.expert_bytes = 100;
  x.now = x.head.started + 3s;
  auto cluster = std::make_shared<cluster_snapshot>();
  cluster->nodes.push_back({node_id{1}, "w1", node_state::suspect, 255});
  auto map = make_shard_map({}, std::vector{node_id{1}, local_node},
                            {layer_index{0}, layer_index{2}}, 4, 9);
  BOOST_TEST_REQUIRE(map.has_value());
  cluster->map = std::make_shared<const shard_map>(std::move(*map));
  x.cluster = cluster;
  x.counts.nodes[node_id{1}].process.bytes_read = 123;
  x.counts.process.huge_bytes = 456;
  x.workers.push_back({"w1", 77, 6, "exit 1", false});
  x.actors.push_back({"router", true, 1, "oops", x.head.started + 1s});
  return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_document_suite)

BOOST_AUTO_TEST_CASE(nodes_have_state_memory_and_restarts_of_their_process) {
  auto x = json::parse(cluster_document(sample()));
  auto& node = x["nodes"][0];
  BOOST_TEST(node["name"] == "w1");
  BOOST_TEST(node["state"] == "suspect");
  BOOST_TEST(node["incarnation"] == "00000000000000ff");
  BOOST_TEST(node["experts"] == 4);
  BOOST_TEST(node["expert_bytes"] == 400);
  BOOST_TEST(node["restarts"] == 6);
  BOOST_TEST(node["pairs"] == 0);
  BOOST_TEST(node["checkpoint_bytes_read"] == 123);
  BOOST_TEST(x["head"]["huge_page_bytes"] == 456);
}

BOOST_AUTO_TEST_CASE(the_map_names_the_experts_of_each_node_and_layer) {
  auto map = json::parse(cluster_document(sample()))["map"];
  BOOST_TEST(map["version"] == 9);
  BOOST_TEST_REQUIRE(map["layers"].size() == 2u);
  BOOST_TEST(map["layers"][1]["layer"] == 2);
  BOOST_TEST((map["layers"][1]["experts"]["w1"].get<std::vector<int>>() ==
              std::vector{0, 2}));
  BOOST_TEST((map["layers"][1]["experts"]["local"].get<std::vector<int>>() ==
              std::vector{1, 3}));
}

BOOST_AUTO_TEST_CASE(actors_stand_under_their_supervisor) {
  auto x = json::parse(cluster_document(sample()));
  auto& child = x["actors"]["children"][0];
  BOOST_TEST(child["name"] == "router");
  BOOST_TEST(child["restarts"] == 1);
  BOOST_TEST(child["last_reason"] == "oops");
  BOOST_TEST(child["uptime_seconds"] == 2.0);
  BOOST_TEST(x["head"]["uptime_seconds"] == 3.0);
}

BOOST_AUTO_TEST_SUITE_END()
