// Sizes and counts as people read them.
#include "runtime/cli/size_text.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::cli;

BOOST_AUTO_TEST_SUITE(size_text_suite)

BOOST_AUTO_TEST_CASE(bytes_have_three_digits_and_a_unit) {
  BOOST_TEST(bytes_text(0) == "0 B");
  BOOST_TEST(bytes_text(1023) == "1023 B");
  BOOST_TEST(bytes_text(1024) == "1.00 KiB");
  BOOST_TEST(bytes_text(11'849'000) == "11.3 MiB");
  BOOST_TEST(bytes_text(uint64_t{5} << 30) == "5.00 GiB");
  BOOST_TEST(bytes_text((1u << 20) - 1) == "1.00 MiB");
  BOOST_TEST(bytes_text(UINT64_MAX) == "16.0 EiB");
}

BOOST_AUTO_TEST_CASE(counts_have_powers_of_a_thousand) {
  BOOST_TEST(count_text(999) == "999");
  BOOST_TEST(count_text(1000) == "1.00 K");
  BOOST_TEST(count_text(2'710'000'000) == "2.71 B");
}

BOOST_AUTO_TEST_SUITE_END()
