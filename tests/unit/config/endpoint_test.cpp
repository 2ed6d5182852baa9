// HOST:PORT, and which hosts count as this machine.
#include "config/endpoint.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(endpoint_suite)

BOOST_AUTO_TEST_CASE(host_and_port_are_told_apart) {
  auto x = parse_endpoint("127.0.0.1:7600");
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->host == "127.0.0.1");
  BOOST_TEST(x->port == 7600);
  auto y = parse_endpoint("[::1]:0");
  BOOST_REQUIRE(y.has_value());
  BOOST_TEST(y->host == "::1");
  BOOST_TEST(to_string(*y) == "[::1]:0");
  BOOST_TEST(to_string(*x) == "127.0.0.1:7600");
}

BOOST_AUTO_TEST_CASE(everything_else_is_refused_with_an_example) {
  for (auto text :
       {"", "7600", "host", "host:", ":80", "host:65536", "host:-1", "host:8o",
        "::1:80", "a b:80", "host:80 ", "[]:80", "http://host:80"}) {
    auto x = parse_endpoint(text);
    BOOST_TEST(!x.has_value(), text);
    if (!x)
      BOOST_TEST(x.error().message.find("127.0.0.1:7600") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_name_that_looks_like_loopback_is_not) {
  for (auto host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    BOOST_TEST(is_loopback({host, 1}), host);
  for (auto host : {"0.0.0.0", "::", "10.0.0.1", "127.evil.example",
                    "127.0.0.1.example.org", "localhost.example.org", "127."})
    BOOST_TEST(!is_loopback({host, 1}), host);
}

BOOST_AUTO_TEST_SUITE_END()
