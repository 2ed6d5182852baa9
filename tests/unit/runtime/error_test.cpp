#include "runtime/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(error_suite)

BOOST_AUTO_TEST_CASE(every_code_has_a_name_of_its_own) {
  BOOST_TEST(to_string(ec::none) == "none");
  BOOST_TEST(to_string(ec::node_down) == "node_down");
  BOOST_TEST(to_string(ec::internal) == "internal");
  BOOST_TEST(to_string(static_cast<ec>(200)) == "unknown");
}

BOOST_AUTO_TEST_CASE(wrapping_keeps_the_code_and_says_where) {
  auto failed = []() -> result<int> {
    return fail(ec::io, "cannot read {} bytes", 7);
  };
  auto x = wrap("model.safetensors", failed().error());
  BOOST_TEST((x.value().code == ec::io));
  BOOST_TEST(x.value().message == "model.safetensors: cannot read 7 bytes");
}

BOOST_AUTO_TEST_SUITE_END()
