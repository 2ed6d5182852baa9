// The server on an ephemeral loopback port: bad, slow, leaving and too many
// clients, and the ways to end.
#include "fake_service.hpp"
#include "http_client.hpp"
#include "runtime/server/http_server.hpp"
#include "runtime/trace/metrics.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;
using json = nlohmann::json;

namespace {

const char* const stream_call = R"({"prompt":"Hi","stream":true})";

struct fixture {
  fake_service service;
  metrics counts;
  http_options options;
  std::unique_ptr<http_server> server;

  fixture() {
    options.port = 0;
    options.header_bytes_max = 2000;
    options.body_bytes_max = 5000;
  }

  void start() {
    auto started = http_server::start(options, service, counts);
    BOOST_TEST_REQUIRE(started.has_value());
    server = std::move(*started);
  }

  /// A client whose stream has begun; `n` is the number of its request.
  std::unique_ptr<http_client> streaming_client(uint64_t n) {
    auto client = std::make_unique<http_client>(server->port());
    client->request("POST", "/v1/completions", stream_call);
    auto started = service.request(n);
    BOOST_TEST_REQUIRE(started.has_value());
    sink = started->sink;
    sink->piece({"Once", {5}});
    BOOST_TEST_REQUIRE(client->sees("Once"));
    return client;
  }

  bool serves() {
    http_client client{server->port()};
    client.request("GET", "/health");
    auto got = client.answer();
    return got && got->status == 200;
  }

  std::shared_ptr<completion_sink> sink; ///< Of the newest stream.
};

std::string error_code_of(const http_answer& x) {
  return json::parse(x.body).at("error").at("code");
}

void check_refused(http_client& client, unsigned status,
                   const std::string& code) {
  auto got = client.answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->status == status);
  BOOST_TEST(error_code_of(*got) == code);
  BOOST_TEST(client.is_closed_by_server());
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(http_bounds_suite, fixture)

BOOST_AUTO_TEST_CASE(a_client_that_leaves_cancels_its_request) {
  start();
  streaming_client(1)->leave();
  BOOST_TEST(service.was_cancelled(1));
  // The service may go on for a while; nobody minds.
  sink->piece({" upon", {6}});
  sink->done({});
  BOOST_TEST(serves());
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_before_the_first_token_cancels_too) {
  start();
  http_client client{server->port()};
  client.request("POST", "/v1/completions", R"({"prompt":"Hi"})");
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  client.leave();
  BOOST_TEST(service.was_cancelled(1));
}

BOOST_AUTO_TEST_CASE(a_client_that_does_not_read_is_cut_off) {
  options.output_bytes_max = 64 * 1024;
  options.send_buffer_bytes = 16 * 1024;
  start();
  http_client client{server->port(), 4096};
  client.request("POST", "/v1/completions", stream_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  // Far more than both systems' buffers and ours hold.
  completion_piece piece{std::string(1000, 'x'), {5}};
  for (int i = 0; i < 2'000; ++i)
    started->sink->piece(piece);
  BOOST_TEST(service.was_cancelled(1));
  BOOST_TEST(client.is_closed_by_server());
  BOOST_TEST(serves());
}

BOOST_AUTO_TEST_CASE(a_write_without_progress_is_cut_off) {
  options.send_buffer_bytes = 16 * 1024;
  options.output_bytes_max = 100 * 1024 * 1024;
  options.write_timeout = 100ms;
  start();
  http_client client{server->port(), 4096};
  client.request("POST", "/v1/completions", stream_call);
  auto started = service.request(1);
  BOOST_TEST_REQUIRE(started.has_value());
  for (int i = 0; i < 3; ++i)
    started->sink->piece({std::string(200'000, 'x'), {5}});
  BOOST_TEST(service.was_cancelled(1));
}

BOOST_AUTO_TEST_CASE(an_oversized_header_is_431) {
  start();
  http_client client{server->port()};
  client.send("GET /health HTTP/1.1\r\nX: " + std::string(3000, 'x'));
  check_refused(client, 431, "header_too_large");
  http_client many{server->port()};
  std::string fields;
  for (int i = 0; i < 400; ++i)
    fields += fmt::format("X-{}: y\r\n", i);
  many.request("GET", "/health", {}, fields);
  check_refused(many, 431, "header_too_large");
}

BOOST_AUTO_TEST_CASE(an_oversized_body_is_413_before_it_is_read) {
  start();
  http_client client{server->port()};
  client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
              "Content-Length: 5001\r\n\r\n");
  check_refused(client, 413, "body_too_large");
}

BOOST_AUTO_TEST_CASE(an_oversized_chunked_body_is_413) {
  start();
  http_client client{server->port()};
  client.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
              "Transfer-Encoding: chunked\r\n\r\n1389\r\n" +
              std::string(5001, 'x') + "\r\n0\r\n\r\n");
  check_refused(client, 413, "body_too_large");
}

BOOST_AUTO_TEST_CASE(a_body_of_the_allowed_size_is_read) {
  start();
  http_client client{server->port()};
  std::string call = R"({"prompt":"Hi"})";
  call += std::string(5000 - call.size(), ' ');
  client.request("POST", "/v1/completions", call);
  BOOST_TEST(service.request(1).has_value());
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_400_or_closed_and_harms_nobody) {
  start();
  for (std::string_view bytes :
       {"garbage\r\n\r\n", "GET /health\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x05hello", "GET /health HTTP/9.9\r\n\r\n",
        "GET /health HTTP/1.1\r\nbad header\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\n"
        "Content-Length: 6\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
        "\r\nzz\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    BOOST_TEST_CONTEXT(bytes) {
      http_client client{server->port()};
      client.send(bytes);
      auto got = client.answer();
      BOOST_TEST_REQUIRE(got.has_value());
      BOOST_TEST((got->status == 400u || got->status == 505u));
      BOOST_TEST(client.is_closed_by_server());
    }
  }
  BOOST_TEST(serves());
}

BOOST_AUTO_TEST_CASE(random_bytes_never_stop_the_server) {
  options.request_deadline = 50ms;
  start();
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int i = 0; i < 50; ++i) {
    std::string bytes(random() % 3000, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(random() % 256);
    http_client client{server->port()};
    client.send(bytes);
    client.finish_sending();
    BOOST_TEST(client.is_closed_by_server(), "seed " << seed);
  }
  BOOST_TEST(serves());
}

BOOST_AUTO_TEST_CASE(half_a_request_is_408_at_the_deadline) {
  options.request_deadline = 50ms;
  start();
  for (auto part : {"GET /hea", "GET /health HTTP/1.1\r\nHost: x\r\n",
                    "POST /v1/completions HTTP/1.1\r\nContent-Length: 9\r\n"
                    "\r\n{"}) {
    http_client client{server->port()};
    client.send(part);
    check_refused(client, 408, "request_timeout");
  }
}

BOOST_AUTO_TEST_CASE(an_idle_connection_is_closed) {
  options.idle_timeout = 50ms;
  start();
  http_client silent{server->port()};
  BOOST_TEST(silent.is_closed_by_server());
  http_client once{server->port()};
  once.request("GET", "/health");
  BOOST_TEST_REQUIRE(once.answer().has_value());
  BOOST_TEST(once.is_closed_by_server());
}

BOOST_AUTO_TEST_CASE(a_long_completion_is_not_an_idle_connection) {
  options.idle_timeout = 30ms;
  options.request_deadline = 30ms;
  options.write_timeout = 30ms;
  start();
  auto slow = streaming_client(1);
  // A silent client on the side shows that the time has passed.
  http_client silent{server->port()};
  BOOST_TEST(silent.is_closed_by_server());
  sink->done({});
  BOOST_TEST(slow->sees("[DONE]"));
}

BOOST_AUTO_TEST_CASE(connections_beyond_the_bound_are_refused_at_once) {
  options.connections_max = 20;
  start();
  std::vector<std::unique_ptr<http_client>> served;
  for (int i = 0; i < 20; ++i) {
    served.push_back(std::make_unique<http_client>(server->port()));
    served.back()->request("GET", "/health");
    BOOST_TEST_REQUIRE(served.back()->answer().has_value());
  }
  // 100 at once: each is answered 503 or closed, none is served or left
  // hanging.
  std::vector<std::unique_ptr<http_client>> refused;
  for (int i = 0; i < 100; ++i)
    refused.push_back(std::make_unique<http_client>(server->port()));
  int answered = 0;
  for (auto& x : refused) {
    auto got = x->answer();
    if (got) {
      ++answered;
      BOOST_TEST(got->status == 503u);
      BOOST_TEST(error_code_of(*got) == "too_many_connections");
    }
    BOOST_TEST(x->is_closed_by_server());
  }
  BOOST_TEST(answered > 0);
  // Those served before still are, and when they leave there is room again.
  served.front()->request("GET", "/health");
  BOOST_TEST(served.front()->answer().has_value());
  refused.clear();
  served.front()->request("GET", "/health", {}, "Connection: close\r\n");
  BOOST_TEST(served.front()->answer().has_value());
  BOOST_TEST(served.front()->is_closed_by_server());
}

BOOST_AUTO_TEST_CASE(a_drain_finishes_streams_and_takes_nothing_new) {
  start();
  http_client idle{server->port()};
  idle.request("GET", "/health");
  BOOST_TEST_REQUIRE(idle.answer().has_value());
  auto client = streaming_client(1);
  server->drain(60s);
  BOOST_TEST(idle.is_closed_by_server());
  BOOST_TEST(!http_client{server->port()}.connected());
  BOOST_TEST(!server->wait(0ms));
  sink->piece({" upon", {6}});
  sink->done({});
  auto got = client->answer();
  BOOST_TEST_REQUIRE(got.has_value());
  BOOST_TEST(got->body.ends_with("data: [DONE]\n\n"));
  BOOST_TEST(client->is_closed_by_server());
  client->leave();
  BOOST_TEST(server->wait(patience));
  BOOST_TEST(!service.has_cancelled_anything());
}

BOOST_AUTO_TEST_CASE(requests_sent_during_a_drain_are_refused) {
  start();
  http_client half{server->port()};
  half.send("POST /v1/completions HTTP/1.1\r\nContent-Length: 15\r\n"
            "Expect: 100-continue\r\n\r\n");
  BOOST_TEST_REQUIRE(half.answer().has_value());
  http_client other{server->port()};
  other.send("GET /ready HTTP/1.1\r\nExpect: 100-continue\r\n"
             "Content-Length: 1\r\n\r\n");
  BOOST_TEST_REQUIRE(other.answer().has_value());
  http_client idle{server->port()};
  idle.request("GET", "/health");
  BOOST_TEST_REQUIRE(idle.answer().has_value());
  server->drain(60s);
  BOOST_TEST(idle.is_closed_by_server());
  half.send(R"({"prompt":"Hi"})");
  check_refused(half, 503, "draining");
  other.send("x");
  check_refused(other, 503, "draining");
}

BOOST_AUTO_TEST_CASE(a_drain_ends_at_its_deadline) {
  start();
  auto client = streaming_client(1);
  server->drain(50ms);
  BOOST_TEST(server->wait(patience));
  BOOST_TEST(service.was_cancelled(1));
  BOOST_TEST(client->is_closed_by_server());
}

BOOST_AUTO_TEST_CASE(stopping_cancels_everything_at_once) {
  start();
  auto client = streaming_client(1);
  server->stop();
  BOOST_TEST(server->wait(patience));
  BOOST_TEST(service.was_cancelled(1));
  server->stop();
  server->drain(1s);
  server.reset();
  // The service may outlive the server and still hold the sink.
  sink->piece({" upon", {6}});
  sink->done({});
}

BOOST_AUTO_TEST_SUITE_END()
