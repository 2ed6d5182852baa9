// `troupe serve` end to end: the tokens of `generate` through HTTP, alone and
// together, through the death of a node, and what it says about itself.
#include "tests/cluster/serve_process.hpp"
#include "tests/unit/runtime/server/http_client.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <future>

using namespace troupe;
using namespace troupe::testing;

using json = nlohmann::json;
using std::chrono::seconds;

namespace {

const auto limit = patient(seconds(30));

/// What `generate` prints for it.
completion_text generated(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"generate", "--model",       "models/demo",
                                     "--prompt", "It is a truth", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto run = run_troupe(arguments);
  BOOST_REQUIRE(run.exited_with(0));
  completion_text result;
  result.status = 200;
  for (auto& event : run.events)
    if (event.at("event") == "token")
      result.text += event.at("text").get<std::string>();
  result.ids = run.events.back().at("ids").get<std::vector<int32_t>>();
  result.finish_reason =
    run.events.back().at("finish_reason").get<std::string>();
  return result;
}

json question(json more) {
  json result{{"prompt", "It is a truth"}};
  result.update(more);
  return result;
}

double metric(serve_process& head, const std::string& name) {
  auto text = "\n" + head.get("/metrics");
  auto at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1
                                 : std::stod(text.substr(at + name.size() + 2));
}

} // namespace

BOOST_AUTO_TEST_SUITE(serve_completion)

BOOST_AUTO_TEST_CASE(http_gives_what_generate_prints) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  BOOST_REQUIRE(head.wait_for_node("w2", "alive"));
  struct {
    json body;
    std::vector<std::string> options;
  } const rows[]{
    {{{"temperature", 0}, {"max_tokens", 40}},
     {"--temperature", "0", "--max-tokens", "40"}},
    {{{"temperature", 0.8}, {"top_p", 0.9}, {"seed", 7}, {"max_tokens", 40}},
     {"--temperature", "0.8", "--top-p", "0.9", "--seed", "7", "--max-tokens",
      "40"}},
    {{{"seed", 3}, {"max_tokens", 40}, {"stop", {"e", "zebra"}}},
     {"--seed", "3", "--max-tokens", "40", "--stop", "e", "--stop", "zebra"}},
  };
  for (auto& row : rows)
    BOOST_TEST_CONTEXT(row.body.dump()) {
      auto expected = generated(row.options);
      auto whole = head.complete(question(row.body));
      BOOST_TEST(whole == expected);
      BOOST_TEST(whole.remote_pairs > 0U);
      BOOST_TEST(head.stream(question(row.body)) == expected);
    }
}

BOOST_AUTO_TEST_CASE(eight_at_once_are_what_they_are_alone) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  std::vector<json> bodies;
  for (int i = 0; i < 8; ++i)
    bodies.push_back({{"prompt", fmt::format("{} It is a truth", i)},
                      {"seed", i},
                      {"max_tokens", 24 + i}});
  std::vector<completion_text> alone;
  for (auto& body : bodies)
    alone.push_back(head.complete(body));
  std::vector<std::future<completion_text>> together;
  for (auto& body : bodies)
    together.push_back(
      std::async(std::launch::async, [&] { return head.stream(body); }));
  for (size_t i = 0; i < bodies.size(); ++i) {
    BOOST_TEST(alone[i].status == 200U);
    BOOST_TEST(together[i].get() == alone[i]);
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_dies_in_a_stream_changes_nothing) {
  serve_process head{{"--workers", "3", "--fault", "slow:*=100us"}};
  for (auto name : {"w1", "w2", "w3"})
    BOOST_REQUIRE(head.wait_for_node(name, "alive"));
  auto body =
    question({{"temperature", 0}, {"max_tokens", 100}, {"ignore_eos", true}});
  auto undisturbed = head.complete(body);
  BOOST_TEST(undisturbed.ids.size() == 100U);
  body["stream"] = true;
  http_client client{head.http_port()};
  client.request("POST", "/v1/completions", body.dump());
  BOOST_REQUIRE(client.sees("data: {"));
  BOOST_REQUIRE(kill(head.process().worker("w2"), SIGKILL) == 0);
  auto answer = client.answer();
  BOOST_REQUIRE(answer.has_value());
  auto disturbed = from_stream(answer->status, answer->body);
  BOOST_TEST(disturbed == undisturbed);
  BOOST_TEST(disturbed.remote_pairs < undisturbed.remote_pairs);
  BOOST_TEST(head.process().wait_until(
    [&] {
      auto x = head.node("w2");
      return x.at("restarts") == 1 && x.at("state") == "alive";
    },
    limit));
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_ends_its_request) {
  serve_process head{{"--workers", "1", "--fault", "slow:*=5ms"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  for (auto streaming : {true, false}) {
    http_client client{head.http_port()};
    client.request(
      "POST", "/v1/completions",
      question(
        {{"max_tokens", 900}, {"ignore_eos", true}, {"stream", streaming}})
        .dump());
    BOOST_REQUIRE(head.process().wait_until(
      [&] { return metric(head, "troupe_requests_running") == 1; }, limit));
    client.leave();
    BOOST_TEST(head.process().wait_until(
      [&] { return metric(head, "troupe_requests_running") == 0; }, limit));
  }
  BOOST_TEST(metric(head, "troupe_requests_total{outcome=\"cancelled\"}") == 2);
  // Far from the 900 tokens each.
  BOOST_TEST(metric(head, "troupe_tokens_total{phase=\"generated\"}") < 900);
}

BOOST_AUTO_TEST_CASE(wrong_requests_are_refused_with_a_reason) {
  serve_process head;
  const std::pair<json, const char*> rows[]{
    {json::object(), "prompt"},
    {{{"prompt", 5}}, "prompt"},
    {{{"prompt", {1, 4096}}}, "4096"},
    {question({{"max_tokens", 0}}), "max_tokens"},
    {question({{"temperature", -1}}), "temperature"},
    {question({{"top_p", 2}}), "top_p"},
    {question({{"seed", "x"}}), "seed"},
    {question({{"stop", {1}}}), "stop"},
    {question({{"model", "other"}}), "model"},
    {json::array({1}), "object"},
  };
  for (auto& [body, part] : rows) {
    auto answer = head.complete(body);
    BOOST_TEST(answer.status >= 400U, body.dump());
    BOOST_TEST(answer.status < 500U, body.dump());
    BOOST_TEST(answer.text.find(part) != std::string::npos,
               body.dump() << ": " << answer.text);
  }
}

BOOST_AUTO_TEST_CASE(it_tells_what_it_is_and_how_it_fares) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  BOOST_REQUIRE(head.wait_for_node("w2", "alive"));
  auto done = head.complete(question({{"max_tokens", 8}, {"temperature", 0}}));
  BOOST_TEST(json::parse(head.get("/health")).at("status") == "ok");
  BOOST_TEST(json::parse(head.get("/ready")).at("status") == "ready");
  BOOST_TEST(head.get("/v1/models").find("\"demo\"") != std::string::npos);
  BOOST_TEST(metric(head, "troupe_requests_total{outcome=\"length\"}") == 1);
  BOOST_TEST(metric(head, "troupe_pairs_total{destination=\"remote\"}") ==
             static_cast<double>(done.remote_pairs));
  BOOST_TEST(metric(head, "troupe_node_state{node=\"w1\",state=\"alive\"}") ==
             1);
  auto cluster = head.cluster();
  BOOST_TEST(cluster.at("nodes").size() == 2U);
  BOOST_TEST(cluster.at("workers").size() == 2U);
  uint64_t pairs = 0;
  for (auto& x : cluster.at("nodes")) {
    BOOST_TEST(x.at("experts") == 6 * 8);
    pairs += x.at("pairs").get<uint64_t>();
  }
  BOOST_TEST(pairs == done.remote_pairs);
  for (auto& x : cluster.at("actors").at("children"))
    BOOST_TEST(x.at("running") == true, x.dump());
  BOOST_TEST(cluster.at("map").at("layers").size() == 6U);
  auto status = run_troupe({"status", "--url", head.url()});
  BOOST_TEST(status.exited_with(0), describe(status));
  for (auto part : {"demo", "w1", "w2", "alive", "backbone", "round_robin"})
    BOOST_TEST(status.out.find(part) != std::string::npos, describe(status));
}

BOOST_AUTO_TEST_SUITE_END()
