// The statistics of a run, as text and as JSON.
#include "runtime/cli/statistics_text.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using namespace troupe::cli;
using namespace std::chrono_literals;

namespace {

statistics sample() {
  statistics x;
  x.prefill_tokens = 100;
  x.prefill_time = 500ms;
  x.decode_tokens = 30;
  x.decode_time = 3s;
  x.remote_pairs = 7;
  x.local_pairs = 8;
  x.rerouted_pairs = 9;
  x.failures = 2;
  auto& node = x.nodes[node_id{1}];
  node.pairs = 7;
  node.batches = 4;
  node.round_trip = 8ms;
  node.process.bytes_read = 4096;
  x.process.huge_bytes = 8192;
  return x;
}

cluster_snapshot nodes() {
  cluster_snapshot x;
  x.nodes.push_back({node_id{1}, "w1", node_state::alive, 3});
  return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(statistics_text_suite)

BOOST_AUTO_TEST_CASE(the_json_has_rates_and_figures_by_node_name) {
  auto x = nlohmann::json::parse(statistics_json(sample(), nodes()));
  BOOST_TEST(x["prefill_tokens_per_second"] == 200.0);
  BOOST_TEST(x["decode_tokens_per_second"] == 10.0);
  BOOST_TEST(x["rerouted_pairs"] == 9);
  BOOST_TEST(x["nodes"]["w1"]["pairs"] == 7);
  BOOST_TEST(x["nodes"]["w1"]["round_trip_seconds"] == 0.008);
  BOOST_TEST(x["nodes"]["w1"]["checkpoint_bytes_read"] == 4096);
  BOOST_TEST(x["huge_page_bytes"] == 8192);
}

BOOST_AUTO_TEST_CASE(a_run_without_time_has_no_rate) {
  auto x = nlohmann::json::parse(statistics_json({}, {}));
  BOOST_TEST(x["decode_tokens_per_second"] == 0.0);
}

BOOST_AUTO_TEST_CASE(the_text_has_means_per_batch) {
  auto text = statistics_text(sample(), nodes());
  BOOST_TEST(text.find("prompt 100 tokens in 0.50 s (200.0 tokens/s)") !=
             std::string::npos);
  BOOST_TEST(text.find("w1: 7 pairs in 4 batches") != std::string::npos);
  BOOST_TEST(text.find("2.00 ms round trip") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
