// The document of a head, as `status` shows it: made by the head's own code, so
// that both sides agree.
#include "runtime/cli/status_text.hpp"

#include "actors/gateway/cluster_document.hpp"
#include "runtime/placement/policies.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::cli;
using namespace std::chrono_literals;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

cluster_report sample() {
  cluster_report x;
  x.head.model = "models/demo";
  x.head.digest = std::string(64, 'a');
  x.head.mode = "bf16";
  x.head.isa = "avx2";
  x.head.lanes = 2;
  x.head.policy = "round_robin";
  x.head.cluster_port = 7600;
  x.head.expert_bytes = 1 << 20;
  x.now = x.head.started + 90s;
  auto cluster = std::make_shared<cluster_snapshot>();
  cluster->nodes.push_back({node_id{1}, "w1", node_state::alive, 1});
  cluster->nodes.push_back({node_id{2}, "w2", node_state::dead, 2});
  auto map = make_shard_map({}, std::vector{node_id{1}, local_node},
                            {layer_index{0}, layer_index{1}}, 4, 3);
  BOOST_TEST_REQUIRE(map.has_value());
  cluster->map = std::make_shared<const shard_map>(std::move(*map));
  x.cluster = cluster;
  x.counts.nodes[node_id{1}] = {10, 5, 1, 10ms, 1ms, 2ms, {}};
  x.actors.push_back({"router", true, 2, "error", x.head.started});
  x.actors.push_back({"backbone", false, 0, "", {}});
  x.workers.push_back({"w1", 4242, 1, "signal 9", false});
  return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(status_text_suite)

BOOST_AUTO_TEST_CASE(every_part_of_the_cluster_is_shown) {
  auto text = status_text(cluster_document(sample()));
  BOOST_TEST_REQUIRE(text.has_value(),
                     (text ? std::string{} : text.error().message));
  BOOST_TEST_MESSAGE(*text);
  BOOST_TEST(holds(*text, "models/demo"));
  BOOST_TEST(holds(*text, "join at port 7600"));
  BOOST_TEST(holds(*text, "up 1 min 30 s"));
  BOOST_TEST(holds(*text, "w1   alive"));
  BOOST_TEST(holds(*text, "w2   dead"));
  BOOST_TEST(holds(*text, "4.00 MiB")); // 2 experts in each of 2 layers
  BOOST_TEST(holds(*text, "2.00"));     // ms per batch
  BOOST_TEST(holds(*text, "router"));
  BOOST_TEST(holds(*text, "2 restarts"));
  BOOST_TEST(holds(*text, "down"));
  BOOST_TEST(holds(*text, "pid 4242"));
  BOOST_TEST(holds(*text, "last: signal 9"));
  BOOST_TEST(holds(*text, "layers 0-1: local 2 w1 2"));
}

BOOST_AUTO_TEST_CASE(a_head_without_nodes_says_so) {
  auto x = sample();
  x.cluster = std::make_shared<const cluster_snapshot>();
  x.workers.clear();
  x.head.cluster_port = 0;
  auto text = status_text(cluster_document(x));
  BOOST_TEST_REQUIRE(text.has_value());
  BOOST_TEST(holds(*text, "none, the head serves all experts"));
  BOOST_TEST(!holds(*text, "local node processes"));
}

BOOST_AUTO_TEST_CASE(another_server_s_answer_is_refused) {
  for (auto* text : {"", "<html>", "{}", "[]", "{\"head\": 1}"}) {
    auto shown = status_text(text);
    BOOST_TEST_REQUIRE(!shown.has_value());
    BOOST_TEST((shown.error().code == ec::bad_format));
  }
}

BOOST_AUTO_TEST_SUITE_END()
