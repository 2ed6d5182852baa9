// The schema of head, nodes, supervision and dispatch.
#include "config/cluster_config.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

result<cluster_config> parse(std::string_view text) {
  return parse_cluster_config(text, "c.toml");
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_config_suite)

BOOST_AUTO_TEST_CASE(the_example_of_a_cluster_is_valid) {
  auto x = read_cluster_config("config/cluster.toml");
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(x->nodes.size() == 2u);
  BOOST_TEST(x->nodes[1].name == "w2");
  BOOST_TEST(x->nodes[1].weight == 2.0);
  BOOST_TEST(x->head.model == "models/demo");
}

BOOST_AUTO_TEST_CASE(the_example_of_a_server_is_valid) {
  auto x = read_cluster_config("config/serve.toml");
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(x->head.workers == 2u);
  BOOST_TEST(x->dispatch.fallback_memory.bytes == 256u << 20);
}

BOOST_AUTO_TEST_CASE(the_example_shows_the_defaults) {
  auto shown = read_cluster_config("config/cluster.toml");
  auto plain = parse("");
  BOOST_REQUIRE((shown.has_value() && plain.has_value()));
  BOOST_TEST((shown->head.listen == plain->head.listen));
  BOOST_TEST((shown->head.cluster_listen == plain->head.cluster_listen));
  BOOST_TEST(shown->head.prefill_chunk == plain->head.prefill_chunk);
  BOOST_TEST((shown->head.connect_deadline == plain->head.connect_deadline));
  BOOST_TEST((shown->head.drain_deadline == plain->head.drain_deadline));
  BOOST_TEST((shown->worker.reconnect_min == plain->worker.reconnect_min));
  BOOST_TEST((shown->worker.reconnect_max == plain->worker.reconnect_max));
  BOOST_TEST(shown->supervision.intensity == plain->supervision.intensity);
  BOOST_TEST((shown->supervision.period == plain->supervision.period));
  BOOST_TEST(
    (shown->supervision.backoff_min == plain->supervision.backoff_min));
  BOOST_TEST(
    (shown->supervision.backoff_max == plain->supervision.backoff_max));
  BOOST_TEST(shown->supervision.jitter == plain->supervision.jitter);
  BOOST_TEST(
    (shown->dispatch.deadline_floor == plain->dispatch.deadline_floor));
  BOOST_TEST(
    (shown->dispatch.deadline_ceiling == plain->dispatch.deadline_ceiling));
  BOOST_TEST(shown->dispatch.deadline_factor ==
             plain->dispatch.deadline_factor);
  BOOST_TEST((shown->heartbeat.interval == plain->heartbeat.interval));
  BOOST_TEST(
    (shown->heartbeat.suspect_after == plain->heartbeat.suspect_after));
  BOOST_TEST((shown->heartbeat.dead_after == plain->heartbeat.dead_after));
}

BOOST_AUTO_TEST_CASE(every_bad_setting_is_refused_by_name) {
  struct row {
    const char* text;
    const char* what;
  };
  const row rows[]{
    {"[head]\nlisten = \"127.0.0.1\"", "c.toml:2: head.listen"},
    {"[head]\nlisten = \"0.0.0.0:80\"", "not loopback"},
    {"[head]\ncluster_listen = \"10.0.0.1:7600\"", "not loopback"},
    {"[head]\nport = 80", "c.toml:2: head.port: unknown key"},
    {"[head]\nlanes = 5000", "head.lanes"},
    {"[head]\ndtype = \"fp16\"", "\"bf16\", \"f32\""},
    {"[head]\ndrain_deadline = 30", "head.drain_deadline"},
    {"[head]\nrequest_body = \"1B\"", "head.request_body"},
    {"[worker]\nhead = \"192.168.0.1:7600\"", "not loopback"},
    {"[worker]\nname = \"a b\"", "worker.name"},
    {"[worker]\nreconnect_min = \"2s\"\nreconnect_max = \"1s\"",
     "c.toml:3: worker.reconnect_max"},
    {"[[node]]\nweight = 1.0", "node[0].name: missing"},
    {"[[node]]\nname = \"a\"\n[[node]]\nname = \"a\"",
     "c.toml:4: node[1].name: two nodes are called \"a\""},
    {"[[node]]\nname = \"a\"\nweight = -1.0", "node[0].weight"},
    {"[node]\nname = \"a\"", "tables [[node]]"},
    {"[supervision]\nintensity = -1", "supervision.intensity"},
    {"[supervision]\nbackoff_max = \"1ms\"", "supervision.backoff_max"},
    {"[supervision]\njitter = 1.5", "supervision.jitter"},
    {"[dispatch]\nfallback_local = \"yes\"", "dispatch.fallback_local"},
    {"[dispatch]\non_missing_expert = \"zeros\"", "dispatch.on_missing_expert"},
    {"[dispatch]\ndeadline_ceiling = \"10ms\"", "dispatch.deadline_ceiling"},
    {"[dispatch]\ncombine = \"fast\"", "dispatch.combine"},
    {"[heartbeat]\nsuspect_after = \"500ms\"", "heartbeat.suspect_after"},
    {"[heartbeat]\ndead_after = \"1s\"", "heartbeat.dead_after"},
    {"[placement]\npolicy = \"eplb2\"", "placement.policy"},
    {"[dispach]\nx = 1", "c.toml:1: dispach: unknown key"},
  };
  for (auto& row : rows) {
    auto x = parse(row.text);
    BOOST_TEST_CONTEXT(row.text) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::invalid_argument));
      BOOST_TEST(x.error().message.find("c.toml") != std::string::npos);
      BOOST_TEST(x.error().message.find(row.what) != std::string::npos,
                 row.what << " is not in " << x.error().message);
    }
  }
}

BOOST_AUTO_TEST_CASE(insecure_allows_what_loopback_rules_forbid) {
  auto x = parse("[head]\nlisten = \"0.0.0.0:80\"\ninsecure = true\n");
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->head.listen.host == "0.0.0.0");
  BOOST_TEST(check_loopback(x->head).has_value());
  x->head.insecure = false;
  BOOST_TEST(!check_loopback(x->head).has_value());
}

BOOST_AUTO_TEST_CASE(the_cache_is_on_by_default_and_can_be_told_where) {
  auto plain = parse("");
  BOOST_TEST_REQUIRE(plain.has_value());
  BOOST_TEST(plain->cache.enabled);
  BOOST_TEST(plain->cache.dir.empty());
  auto x = parse("[cache]\nenabled = false\ndir = \"/var/cache/troupe\"\n"
                 "bytes_max = \"64GiB\"\npages = \"file\"\n");
  BOOST_TEST_REQUIRE(x.has_value());
  BOOST_TEST(!x->cache.enabled);
  BOOST_TEST(x->cache.dir == "/var/cache/troupe");
  BOOST_TEST(x->cache.bytes_max.bytes == uint64_t{64} << 30);
  BOOST_TEST((x->cache.pages == cache_pages::file));
  BOOST_TEST(!parse("[cache]\npages = \"huge\"\n").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
