#include "runtime/cache/mapped_pages.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(mapped_pages_suite)

BOOST_AUTO_TEST_CASE(facts_of_all_mappings_are_added_up) {
  const auto x = parse_pages("7f0000000000-7f0000200000 r--s 0 fe:00 12 /a b\n"
                             "Size:               2048 kB\n"
                             "Rss:                1024 kB\n"
                             "Pss:                 512 kB\n"
                             "AnonHugePages:      2048 kB\n"
                             "ShmemPmdMapped:        4 kB\n"
                             "FilePmdMapped:         8 kB\n"
                             "VmFlags: rd mr mw me ms sd\n"
                             "7f0000200000-7f0000400000 rw-p 0 00:00 0\n"
                             "Rss:                   1 kB");
  BOOST_TEST(x.resident_bytes == 1025u * 1024);
  BOOST_TEST(x.proportional_bytes == 512u * 1024);
  BOOST_TEST(x.huge_anonymous_bytes == 2048u * 1024);
  BOOST_TEST(x.huge_file_bytes == 12u * 1024);
}

BOOST_AUTO_TEST_CASE(lines_without_a_number_say_nothing) {
  BOOST_TEST(parse_pages("Rss:\nPss: x kB\nRss").resident_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_mapping_is_found_by_an_address_inside) {
  const std::vector<char> touched(size_t{1} << 20, 'x');
  const auto x = pages_of_mapping(touched.data() + 5000);
  BOOST_TEST_REQUIRE(x.has_value());
  BOOST_TEST(x->resident_bytes >= touched.size() - 8192);
  BOOST_TEST(!pages_of_mapping(nullptr).has_value());
  BOOST_TEST(pages_of_process().value().resident_bytes >= x->resident_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
