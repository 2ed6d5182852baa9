// Nothing that a head has started outlives it; what it has not started stays,
// and finds its way back to a head.
#include "tests/cluster/serve_process.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>

using namespace troupe;
using namespace troupe::testing;

using std::chrono::seconds;

namespace {

const auto start_limit = patient(seconds(30));

const nlohmann::json question{
  {"prompt", "It is a truth"}, {"max_tokens", 24}, {"temperature", 0}};

/// Two nodes by name, found dead quickly.
constexpr auto two_nodes = R"(
[heartbeat]
interval = "50ms"
suspect_after = "400ms"
dead_after = "1s"

[placement]
policy = "weighted"

[[node]]
name = "n1"
weight = 1.0

[[node]]
name = "n2"
weight = 3.0

[worker]
model = "models/demo"
head = "127.0.0.1:{port}"
reconnect_min = "20ms"
reconnect_max = "200ms"
)";

/// A head and two nodes that nobody but the test has started.
class free_cluster {
public:
  free_cluster() {
    write_config(1); // The head does not read what nodes dial.
    head_.emplace(std::vector<std::string>{"--config", config()});
    write_config(head_->actor_port());
    for (auto name : {"n1", "n2"})
      nodes_.push_back(
        std::make_unique<troupe_process>(std::vector<std::string>{
          "worker", "--config", config(), "--name", name}));
    wait_for_all();
  }

  serve_process& head() {
    return *head_;
  }

  troupe_process& node(size_t i) {
    return *nodes_[i];
  }

  void wait_for_all() {
    BOOST_REQUIRE(head_->wait_for_node("n1", "alive"));
    BOOST_REQUIRE(head_->wait_for_node("n2", "alive"));
  }

  /// Starts another head at the port of the one that has ended.
  void start_head_again() {
    auto port = head_->actor_port();
    head_.emplace(std::vector<std::string>{"--config", config()}, port);
  }

private:
  std::string config() const {
    return folder_.path("cluster.toml");
  }

  void write_config(uint16_t port) {
    folder_.write("cluster.toml",
                  test::with(two_nodes, "{port}", std::to_string(port)));
  }

  test::scratch_folder folder_;
  std::optional<serve_process> head_;
  std::vector<std::unique_ptr<troupe_process>> nodes_;
};

std::vector<std::string> slow_generation() {
  return {"generate",   "--model",      "models/demo", "--ids",
          "1,2,3",      "--max-tokens", "1000",        "--ignore-eos",
          "--json",     "--workers",    "3",           "--fault",
          "slow:*=1ms", "--quiet"};
}

void kill_head_and_check(troupe_process& head) {
  head.signal(SIGKILL);
  BOOST_REQUIRE(head.wait(patient(seconds(5))).has_value());
  BOOST_TEST(head.wait_for_no_descendants(patient(seconds(5))).empty());
}

} // namespace

BOOST_AUTO_TEST_SUITE(lifecycle_nodes)

// -- what a head has started
// ----------------------------------------------------

BOOST_AUTO_TEST_CASE(a_killed_head_leaves_no_process) {
  troupe_process head{slow_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(2, start_limit));
  BOOST_TEST(head.descendants().size() == 3U);
  kill_head_and_check(head);
}

BOOST_AUTO_TEST_CASE(a_killed_head_leaves_no_frozen_process) {
  troupe_process head{slow_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(2, start_limit));
  BOOST_REQUIRE(kill(head.worker("w2"), SIGSTOP) == 0);
  kill_head_and_check(head);
}

BOOST_AUTO_TEST_CASE(a_process_frozen_as_soon_as_it_exists_is_not_left) {
  for (int i = 0; i < 5; ++i) {
    troupe_process head{slow_generation()};
    // Its command line is to be seen as soon as it is that program.
    BOOST_REQUIRE(
      head.wait_until([&] { return head.worker("w3") > 0; }, start_limit));
    for (auto pid : head.descendants())
      kill(pid, SIGSTOP);
    kill_head_and_check(head);
  }
}

BOOST_AUTO_TEST_CASE(a_killed_server_leaves_no_restarted_process) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  auto first = head.process().worker("w1");
  BOOST_REQUIRE(kill(first, SIGKILL) == 0);
  BOOST_REQUIRE(head.process().wait_until(
    [&] {
      auto x = head.node("w1");
      return x.at("restarts") == 1 && x.at("state") == "alive";
    },
    start_limit));
  auto second = head.process().worker("w1");
  BOOST_TEST(second != first);
  kill(second, SIGSTOP);
  kill_head_and_check(head.process());
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_told_to_end_is_started_again) {
  serve_process head{{"--workers", "1"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  kill(head.process().worker("w1"), SIGTERM);
  BOOST_TEST(head.process().wait_until(
    [&] {
      auto x = head.node("w1");
      return x.at("restarts") == 1 && x.at("state") == "alive";
    },
    start_limit));
}

// -- what it has not started
// ----------------------------------------------------

BOOST_AUTO_TEST_CASE(nodes_survive_their_head_and_serve_the_next_one) {
  free_cluster cluster;
  auto map = cluster.head().cluster().at("map").at("layers");
  BOOST_TEST(cluster.head().node("n1").at("experts") == 6 * 4);
  BOOST_TEST(cluster.head().node("n2").at("experts") == 6 * 12);
  auto before = cluster.head().complete(question);
  BOOST_TEST(before.status == 200U);
  BOOST_TEST(before.remote_pairs > 0U);

  for (auto number : {SIGKILL, SIGTERM}) {
    cluster.head().process().signal(number);
    BOOST_REQUIRE(cluster.head().process().wait(patient(seconds(5))));
    BOOST_TEST(!cluster.node(0).wait(wait_limit(0)).has_value());
    cluster.start_head_again();
    cluster.wait_for_all();
    BOOST_TEST(cluster.head().cluster().at("map").at("layers") == map);
    auto after = cluster.head().complete(question);
    BOOST_TEST(after == before);
    BOOST_TEST(after.remote_pairs == before.remote_pairs);
  }
}

BOOST_AUTO_TEST_CASE(a_node_taken_for_dead_joins_again_when_it_wakes_up) {
  free_cluster cluster;
  auto before = cluster.head().complete(question);
  auto old = cluster.head().node("n2").at("incarnation");
  cluster.node(1).signal(SIGSTOP);
  BOOST_REQUIRE(cluster.head().wait_for_node("n2", "dead"));
  auto without = cluster.head().complete(question);
  BOOST_TEST(without == before);
  BOOST_TEST(without.remote_pairs < before.remote_pairs);
  cluster.node(1).signal(SIGCONT);
  BOOST_REQUIRE(cluster.head().wait_for_node("n2", "alive"));
  auto after = cluster.head().complete(question);
  BOOST_TEST(after == before);
  BOOST_TEST(after.remote_pairs == before.remote_pairs);
}

BOOST_AUTO_TEST_CASE(a_head_that_was_frozen_serves_with_its_nodes_again) {
  free_cluster cluster;
  auto before = cluster.head().complete(question);
  cluster.head().process().signal(SIGSTOP);
  // The nodes notice by the silence of the connection.
  BOOST_REQUIRE(cluster.node(0).wait_for_error_text("is lost", start_limit));
  cluster.head().process().signal(SIGCONT);
  cluster.wait_for_all();
  BOOST_TEST(cluster.head().process().wait_until(
    [&] {
      auto after = cluster.head().complete(question);
      return after == before && after.remote_pairs == before.remote_pairs;
    },
    start_limit));
}

BOOST_AUTO_TEST_CASE(two_nodes_of_one_name_do_not_both_serve) {
  free_cluster cluster;
  troupe_process twin{
    {"worker", "--model", "models/demo", "--name", "n1", "--head",
     fmt::format("127.0.0.1:{}", cluster.head().actor_port())}};
  BOOST_TEST(twin.wait_for_error_text("is taken by a process", start_limit));
  BOOST_TEST(cluster.head().node("n1").at("state") == "alive");
  cluster.node(0).signal(SIGKILL);
  BOOST_TEST(twin.wait_for_error_text("serving 24 experts", start_limit));
}

BOOST_AUTO_TEST_CASE(a_node_with_other_numbers_is_told_why_it_cannot_join) {
  serve_process head;
  troupe_process node{{"worker", "--model", "models/demo", "--name", "n1",
                       "--dtype", "f32", "--head",
                       fmt::format("127.0.0.1:{}", head.actor_port())}};
  BOOST_TEST(node.wait_for_error_text("computes in f32", start_limit));
  troupe_process other{{"worker", "--model", "tests/golden/models/qwen3_moe",
                        "--name", "n2", "--head",
                        fmt::format("127.0.0.1:{}", head.actor_port())}};
  BOOST_TEST(other.wait_for_error_text("checkpoint", start_limit));
  BOOST_TEST(head.cluster().at("nodes").empty());
}

BOOST_AUTO_TEST_SUITE_END()
