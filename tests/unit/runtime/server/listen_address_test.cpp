#include "runtime/server/listen_address.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(listen_address_suite)

BOOST_AUTO_TEST_CASE(listen_addresses_are_split_at_the_last_colon) {
  auto four = parse_listen("127.0.0.1:0");
  BOOST_TEST_REQUIRE(four.has_value());
  BOOST_TEST(four->host == "127.0.0.1");
  BOOST_TEST(four->port == 0u);
  auto six = parse_listen("[::1]:65535");
  BOOST_TEST_REQUIRE(six.has_value());
  BOOST_TEST(six->host == "::1");
  BOOST_TEST(six->port == 65535u);
}

BOOST_AUTO_TEST_CASE(broken_listen_addresses_are_refused) {
  for (auto text :
       {"", "127.0.0.1", ":80", "localhost:", "localhost:65536", "localhost:-1",
        "localhost:8o", "::1:80", "[]:80", "[::1:80", "localhost:80 "}) {
    auto got = parse_listen(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST_REQUIRE(!got.has_value());
      BOOST_TEST((got.error().code == ec::invalid_argument));
    }
  }
}

BOOST_AUTO_TEST_CASE(only_loopback_is_allowed_unless_told_otherwise) {
  for (auto host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
    BOOST_TEST(checked_address(host, listen_scope::loopback_only).has_value());
  for (auto host : {"0.0.0.0", "::", "192.168.0.1"}) {
    BOOST_TEST(!checked_address(host, listen_scope::loopback_only).has_value());
    BOOST_TEST(checked_address(host, listen_scope::any_address).has_value());
  }
  for (auto host : {"", "example.org", "1.2.3", "127.0.0.1:80"})
    BOOST_TEST(!checked_address(host, listen_scope::any_address).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
