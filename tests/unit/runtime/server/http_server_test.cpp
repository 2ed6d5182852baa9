// The server on an ephemeral loopback port: what it answers.
#include "runtime/server/http_server.hpp"

#include "fake_service.hpp"
#include "http_client.hpp"
#include "runtime/trace/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;
using json = nlohmann::json;

namespace {

const char* const short_call = R"({"prompt":"Hi","max_tokens":2})";
const char* const stream_call = R"({"prompt":"Hi","stream":true})";

struct fixture {
  fake_service service;
  metrics counts;
  std::unique_ptr<http_server> server;

  fixture() {
    http_options options;
    options.port = 0;
    auto started = http_server::start(options, service, counts);
    BOOST_TEST_REQUIRE(started.has_value());
    server = std::move(*started);
  }

  /// The answer to one request on a connection of its own.
  http_answer ask(std::string_view method, std::string_view target,
                  std::string_view body = {}) {
    http_client client{server->port()};
    client.request(method, target, body);
    auto got = client.answer();
    BOOST_TEST_REQUIRE(got.has_value());
    return *got;
  }
};

std::string error_code_of(const http_answer& x) {
  return json::parse(x.body).at("error").at("code");
}

completion_end two_tokens() {
  completion_end end;
  end.reason = finish_reason::length;
  end.prompt_tokens = 1;
  end.completion_tokens = 2;
  return end;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_server_suite, fixture)

BOOST_AUTO_TEST_CASE(the_simple_routes_answer) {
  BOOST_TEST(server->port() != 0u);
  BOOST_TEST(server->url() ==
             fmt::format("http://127.0.0.1:{}", server->port()));
  BOOST_TEST(json::parse(ask("GET", "/health").body)["status"] == "ok");
  BOOST_TEST(json::parse(ask("GET", "/ready").body)["status"] == "ready");
  BOOST_TEST(json::parse(ask("GET", "/cluster").body)["nodes"].is_array());
  BOOST_TEST(json::parse(ask("GET", "/v1/models").body)["data"][0]["id"] ==
             "demo");
  auto numbers = ask("GET", "/metrics");
  BOOST_TEST(holds(numbers.head, "Content-Type: text/plain; version=0.0.4"));
  BOOST_TEST(holds(numbers.body, "troupe_http_requests_total{route=\"/health\","
                                 "status=\"200\"} 1"));
}

BOOST_AUTO_TEST_CASE(readiness_follows_the_service) {
  service.set_not_ready("loading the model: 3 of 9 layers");
  auto got = ask("GET", "/ready");
  BOOST_TEST(got.status == 503u);
  BOOST_TEST(json::parse(got.body)["error"]["message"] ==
             "loading the model: 3 of 9 layers");
  BOOST_TEST(ask("GET", "/health").status == 200u);
  auto refused = ask("POST", "/v1/completions", short_call);
  BOOST_TEST(refused.status == 503u);
  BOOST_TEST(error_code_of(refused) == "not_ready");
  service.set_not_ready(std::nullopt);
  BOOST_TEST(ask("GET", "/ready").status == 200u);
}

BOOST_AUTO_TEST_CASE(wrong_paths_and_methods_get_json_errors) {
  auto missing = ask("GET", "/nothing");
  BOOST_TEST(missing.status == 404u);
  BOOST_TEST(error_code_of(missing) == "unknown_path");
  auto get = ask("GET", "/v1/completions");
  BOOST_TEST(get.status == 405u);
  BOOST_TEST(holds(get.head, "\r\nAllow: POST\r\n"));
  BOOST_TEST(ask("POST", "/health", "{}").status == 405u);
}

BOOST_AUTO_TEST_CASE(head_has_the_length_of_get_and_no_body) {
  http_client client{server->port()};
  client.request("HEAD", "/health");
  auto head = client.answer(http_client::body_of::head);
  BOOST_TEST_REQUIRE(head.has_value());
  BOOST_TEST(head->status == 200u);
  // The next answer on the same connection starts right behind the head.
  client.request("GET", "/health");
  auto get = client.answer();
  BOOST_TEST_REQUIRE(get.has_value());
  BOOST_TEST(
    holds(head->head, fmt::format("Content-Length: {}\r\n", get->body.size())));
}

BOOST_AUTO_TEST_CASE(a_whole_completion_is_one_document) {
  http_client client{server->port()};
  client.request("POST", "/v1/completions", short_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  BOOST_TEST(std::get<std::string>(started->request.prompt) == "Hi");
  BOOST_TEST(started->request.params.max_tokens == 2u);
  started->sink->piece({"Once", {5}});
  started->sink->piece({" upon", {6}});
  started->sink->done(two_tokens());
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->status == 200u);
  auto document = json::parse(got->body);
  BOOST_TEST(document["choices"][0]["text"] == "Once upon");
  BOOST_TEST(document["choices"][0]["finish_reason"] == "length");
  BOOST_TEST(document["troupe"]["ids"] == (json{5, 6}));
  BOOST_TEST(document["troupe"]["seed"] == started->request.params.seed);
  // The connection stays usable.
  client.request("GET", "/health");
  BOOST_TEST_REQUIRE(client.answer().has_value());
  BOOST_TEST(!service.has_cancelled_anything());
}

BOOST_AUTO_TEST_CASE(a_stream_sends_each_piece_when_it_comes) {
  http_client client{server->port()};
  client.request("POST", "/v1/completions", stream_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->piece({"Once", {5}});
  // Seen before the second piece exists.
  BOOST_TEST(client.sees("\"text\":\"Once\""));
  started->sink->piece({" upon", {6}});
  started->sink->done(two_tokens());
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->body.starts_with("data: {"));
  BOOST_TEST(got->body.ends_with("data: [DONE]\n\n"));
  BOOST_TEST(holds(got->body, "\"text\":\" upon\""));
  BOOST_TEST(holds(got->body, "\"finish_reason\":\"length\""));
  client.request("GET", "/metrics");
  auto numbers = client.answer();
  BOOST_TEST_REQUIRE(numbers.has_value());
  BOOST_TEST(
    holds(numbers->body, "troupe_requests_total{outcome=\"length\"} 1"));
  BOOST_TEST(holds(numbers->body, "troupe_tokens_total{phase=\"decode\"} 2"));
}

BOOST_AUTO_TEST_CASE(two_requests_have_different_ids_and_seeds) {
  auto one = [&](uint64_t n) {
    http_client client{server->port()};
    client.request("POST", "/v1/completions", short_call);
    auto started = service.request(n);
    BOOST_TEST_REQUIRE(started.has_value());
    started->sink->done(two_tokens());
    auto got = client.answer();
    BOOST_TEST_REQUIRE(got.has_value());
    return json::parse(got->body);
  };
  auto first = one(1);
  auto second = one(2);
  BOOST_TEST(first["id"] != second["id"]);
  BOOST_TEST(first["troupe"]["seed"] != second["troupe"]["seed"]);
}

BOOST_AUTO_TEST_CASE(a_refused_request_tells_why) {
  service.refuse({ec::overloaded, "4 requests wait already"});
  auto got = ask("POST", "/v1/completions", short_call);
  BOOST_TEST(got.status == 503u);
  BOOST_TEST(error_code_of(got) == "overloaded");
  BOOST_TEST(holds(got.head, "Retry-After"));
  BOOST_TEST(ask("POST", "/v1/completions", R"({"prompt":5})").status == 400u);
}

BOOST_AUTO_TEST_CASE(a_failure_before_the_first_token_has_a_status) {
  http_client client{server->port()};
  client.request("POST", "/v1/completions", stream_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->failed({ec::expert_unavailable, "expert 7 of layer 3"});
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->status == 503u);
  BOOST_TEST(error_code_of(*got) == "expert_unavailable");
}

BOOST_AUTO_TEST_CASE(a_failure_in_mid_stream_is_its_last_event) {
  http_client client{server->port()};
  client.request("POST", "/v1/completions", stream_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->piece({"Once", {5}});
  started->sink->failed({ec::internal, "boom"});
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(holds(got->body, "\"message\":\"boom\""));
  BOOST_TEST(got->body.ends_with("data: [DONE]\n\n"));
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order) {
  http_client client{server->port()};
  std::string call = short_call;
  client.send(fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                          "Content-Length: {}\r\n\r\n{}"
                          "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                          "GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
                          call.size(), call));
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->done(two_tokens());
  for (auto status : {200u, 404u, 200u}) {
    auto got = client.answer();
    BOOST_TEST_REQUIRE(got.has_value());
    BOOST_TEST(got->status == status);
  }
  // What comes after the pipeline ran dry is read from its right place.
  client.request("GET", "/v1/models");
  auto last = client.answer();
  BOOST_TEST_REQUIRE(last.has_value());
  BOOST_TEST(last->status == 200u);
  BOOST_TEST(holds(last->body, "demo"));
}

BOOST_AUTO_TEST_CASE(a_client_that_waits_for_100_continue_gets_it) {
  http_client client{server->port()};
  std::string call = short_call;
  client.send(fmt::format("POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                          "Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
                          call.size()));
  auto interim = client.answer();
  BOOST_TEST_REQUIRE(interim.has_value());
  BOOST_TEST(interim->status == 100u);
  client.send(call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->done(two_tokens());
  BOOST_TEST_REQUIRE(client.answer().has_value());
}

BOOST_AUTO_TEST_CASE(http_1_0_streams_end_by_closing) {
  http_client client{server->port()};
  std::string call = stream_call;
  client.send(fmt::format("POST /v1/completions HTTP/1.0\r\n"
                          "Content-Length: {}\r\n\r\n{}",
                          call.size(), call));
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  started->sink->piece({"Once", {5}});
  started->sink->done(two_tokens());
  BOOST_TEST(client.sees("data: [DONE]\n\n"));
  BOOST_TEST(client.is_closed_by_server());
}

BOOST_AUTO_TEST_CASE(a_half_closed_client_still_gets_a_plain_answer) {
  http_client client{server->port()};
  client.request("GET", "/health");
  client.finish_sending();
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->status == 200u);
  BOOST_TEST(client.is_closed_by_server());
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_a_clear_error) {
  http_options options;
  options.port = server->port();
  auto second = http_server::start(options, service, counts);
  BOOST_TEST_REQUIRE(!second.has_value());
  BOOST_TEST((second.error().code == ec::io));
  BOOST_TEST(
    holds(second.error().message, fmt::format("127.0.0.1:{}", server->port())));
}

BOOST_AUTO_TEST_CASE(only_loopback_is_listened_on_unless_told_otherwise) {
  http_options options;
  options.port = 0;
  for (auto address : {"0.0.0.0", "::", "192.168.0.1", "example.org", ""}) {
    options.address = address;
    auto got = http_server::start(options, service, counts);
    BOOST_TEST_CONTEXT(address) {
      BOOST_TEST_REQUIRE(!got.has_value());
      BOOST_TEST((got.error().code == ec::invalid_argument));
    }
  }
  options.address = "0.0.0.0";
  options.scope = listen_scope::any_address;
  BOOST_TEST(http_server::start(options, service, counts).has_value());
  options.address = "localhost";
  options.scope = listen_scope::loopback_only;
  BOOST_TEST(http_server::start(options, service, counts).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
