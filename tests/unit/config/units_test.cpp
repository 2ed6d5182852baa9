// Durations and sizes as people write them.
#include "config/units.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using std::chrono::microseconds;

BOOST_AUTO_TEST_SUITE(units_suite)

BOOST_AUTO_TEST_CASE(durations_need_a_unit) {
  BOOST_TEST(parse_duration("250us").value().count() == 250);
  BOOST_TEST(parse_duration("20ms").value().count() == 20'000);
  BOOST_TEST(parse_duration("1.5s").value().count() == 1'500'000);
  BOOST_TEST(parse_duration("2min").value().count() == 120'000'000);
  BOOST_TEST(parse_duration("0ms").value().count() == 0);
  for (auto text : {"", "5", "s", "-1s", "-0s", "1 s", "1h", "nan", "infs",
                    "1e3s", "99999999999s", " 1s", "1s "})
    BOOST_TEST(!parse_duration(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(sizes_are_binary_and_whole) {
  BOOST_TEST(parse_byte_size("4096").value().bytes == 4096u);
  BOOST_TEST(parse_byte_size("0B").value().bytes == 0u);
  BOOST_TEST(parse_byte_size("512KiB").value().bytes == 512u << 10);
  BOOST_TEST(parse_byte_size("2GiB").value().bytes == uint64_t{2} << 30);
  BOOST_TEST(parse_byte_size("1TiB").value().bytes == uint64_t{1} << 40);
  for (auto text : {"", "MiB", "1MB", "1.5GiB", "-1B", "1 MiB", "5000000TiB",
                    "18446744073709551616"})
    BOOST_TEST(!parse_byte_size(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(what_is_printed_parses_to_the_same) {
  for (int64_t x : {0, 1, 1500, 20'000, 1'500'000, 120'000'000})
    BOOST_TEST(parse_duration(to_string(microseconds{x})).value().count() == x);
  for (uint64_t x : {0u, 1u, 1023u, 1024u, 64u << 20})
    BOOST_TEST(parse_byte_size(to_string(byte_size{x})).value().bytes == x);
  BOOST_TEST(to_string(microseconds{1'500'000}) == "1500ms");
  BOOST_TEST(to_string(byte_size{64u << 20}) == "64MiB");
}

BOOST_AUTO_TEST_SUITE_END()
