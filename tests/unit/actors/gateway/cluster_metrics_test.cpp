// Metrics of the cluster: counters grow by the difference, gauges are set.
#include "actors/gateway/cluster_metrics.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

struct fixture {
  metrics counts;
  cluster_metrics shown{counts};
  statistics now;
  cluster_snapshot nodes;

  fixture() {
    nodes.nodes.push_back({node_id{1}, "w1", node_state::alive, 1});
  }

  bool has(const std::string& line) const {
    return counts.text().find(line) != std::string::npos;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cluster_metrics_suite, fixture)

BOOST_AUTO_TEST_CASE(a_counter_is_not_added_twice) {
  now.remote_pairs = 5;
  now.nodes[node_id{1}].batches = 2;
  now.nodes[node_id{1}].failures = 1;
  now.nodes[node_id{1}].compute = std::chrono::milliseconds(1500);
  now.remote_wait = std::chrono::milliseconds(2500);
  shown.update(now, nodes, {{"w1", 1, 3, "", false}});
  shown.update(now, nodes, {{"w1", 1, 3, "", false}});
  now.remote_pairs = 8;
  now.process.bytes_read = 100;
  now.nodes[node_id{1}].process.bytes_read = 50;
  now.nodes[node_id{1}].process.huge_bytes = 2048;
  shown.update(now, nodes, {{"w1", 1, 4, "", false}});
  now.nodes[node_id{1}].process.bytes_read = 7; // another process by now
  shown.update(now, nodes, {{"w1", 1, 4, "", false}});
  auto text = counts.text();
  BOOST_TEST(has("troupe_checkpoint_bytes_read{process=\"head\"} 100"), text);
  BOOST_TEST(has("troupe_checkpoint_bytes_read{process=\"w1\"} 7"), text);
  BOOST_TEST(has("troupe_huge_page_bytes{process=\"w1\"} 2048"), text);
  BOOST_TEST(has("troupe_pairs_total{destination=\"remote\"} 8"), text);
  BOOST_TEST(has("troupe_remote_wait_seconds_total 2.5"), text);
  BOOST_TEST(has("troupe_expert_compute_seconds_total{node=\"w1\"} 1.5"), text);
  BOOST_TEST(has("troupe_node_restarts_total{node=\"w1\"} 4"), text);
  BOOST_TEST(has("troupe_batches_total{node=\"w1\",outcome=\"answered\"} 2"),
             text);
  BOOST_TEST(has("troupe_batches_total{node=\"w1\",outcome=\"failed\"} 1"),
             text);
}

BOOST_AUTO_TEST_CASE(a_node_is_in_one_state) {
  shown.update(now, nodes, {});
  nodes.nodes[0].state = node_state::dead;
  shown.update(now, nodes, {});
  auto text = counts.text();
  BOOST_TEST(has("troupe_node_state{node=\"w1\",state=\"dead\"} 1"), text);
  BOOST_TEST(has("troupe_node_state{node=\"w1\",state=\"alive\"} 0"), text);
}

BOOST_AUTO_TEST_SUITE_END()
