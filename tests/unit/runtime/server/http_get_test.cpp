// Fetching a document from a head, and what can go wrong on the way.
#include "runtime/server/http_get.hpp"

#include "fake_service.hpp"
#include "runtime/server/http_server.hpp"
#include "runtime/trace/metrics.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(http_get_suite)

BOOST_AUTO_TEST_CASE(an_origin_has_a_host_and_perhaps_a_port) {
  auto x = parse_origin("http://127.0.0.1:8080");
  BOOST_TEST_REQUIRE(x.has_value());
  BOOST_TEST(x->host == "127.0.0.1");
  BOOST_TEST(x->port == 8080u);
  x = parse_origin("http://[::1]:81/");
  BOOST_TEST_REQUIRE(x.has_value());
  BOOST_TEST(x->host == "::1");
  BOOST_TEST(x->port == 81u);
  BOOST_TEST(parse_origin("http://example")->port == 80u);
  BOOST_TEST(parse_origin("http://[::1]")->port == 80u);
}

BOOST_AUTO_TEST_CASE(other_urls_are_refused_with_an_example) {
  for (auto* url : {"", "127.0.0.1:8080", "https://a", "http://", "http://:80",
                    "http://a:", "http://a:0", "http://a:65536", "http://a:b",
                    "http://a/b", "http://[::1", "http://[::1]80"}) {
    auto x = parse_origin(url);
    BOOST_TEST_REQUIRE(!x.has_value(), url);
    BOOST_TEST((x.error().code == ec::invalid_argument));
    BOOST_TEST(x.error().message.find("http://127.0.0.1:8080") !=
               std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_document_is_fetched_whole) {
  fake_service service;
  metrics counts;
  http_options options;
  options.port = 0;
  auto server = http_server::start(options, service, counts);
  BOOST_TEST_REQUIRE(server.has_value());
  auto reply = http_get((*server)->url(), "/health");
  BOOST_TEST_REQUIRE(reply.has_value(),
                     (reply ? std::string{} : reply.error().message));
  BOOST_TEST(reply->status == 200u);
  BOOST_TEST(reply->body == "{\"status\":\"ok\"}\n");
  auto nothing = http_get((*server)->url(), "/nothing");
  BOOST_TEST_REQUIRE(nothing.has_value());
  BOOST_TEST(nothing->status == 404u);
}

BOOST_AUTO_TEST_CASE(a_port_where_nobody_listens_is_named) {
  fake_service service;
  metrics counts;
  http_options options;
  options.port = 0;
  auto server = http_server::start(options, service, counts);
  BOOST_TEST_REQUIRE(server.has_value());
  auto url = (*server)->url();
  server->reset(); // the port was free a moment ago
  auto reply = http_get(url, "/health");
  BOOST_TEST_REQUIRE(!reply.has_value());
  BOOST_TEST((reply.error().code == ec::io));
  BOOST_TEST(reply.error().message.find(url) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
