// Thousands of names in a few words.
#include "runtime/model/name_groups.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe;

namespace {

/// The only pattern of `names`.
std::string pattern(const std::vector<std::string>& names) {
  auto groups = group_names(names);
  BOOST_REQUIRE(groups.size() == 1u);
  BOOST_TEST(groups.front().count == names.size());
  return groups.front().pattern;
}

} // namespace

BOOST_AUTO_TEST_SUITE(name_groups_suite)

BOOST_AUTO_TEST_CASE(names_that_differ_in_numbers_are_one_group) {
  std::vector<std::string> names;
  for (int layer = 0; layer < 48; ++layer)
    for (int expert = 0; expert < 128; ++expert)
      names.push_back(fmt::format("layers.{}.experts.{}.up", layer, expert));
  BOOST_TEST(pattern(names) == "layers.{0-47}.experts.{0-127}.up");
}

BOOST_AUTO_TEST_CASE(values_are_ranges_in_order_of_size) {
  BOOST_TEST(pattern({"a.7.b"}) == "a.7.b");
  BOOST_TEST(pattern({"a.10", "a.9", "a.2", "a.3", "a.4"}) == "a.{2-4,9,10}");
  BOOST_TEST(pattern({"m-00001-of-00003.s", "m-00003-of-00003.s"}) ==
             "m-{00001,00003}-of-00003.s");
  BOOST_TEST(pattern({"0", "2", "4", "6", "8", "10", "12"}) ==
             "{0,2,4,6,8,10,...}");
}

BOOST_AUTO_TEST_CASE(a_digit_beside_a_letter_is_part_of_the_name) {
  std::vector<std::string> names{"e.0.w1", "e.1.w1", "e.0.w2", "e.1.w2"};
  auto groups = group_names(names);
  BOOST_REQUIRE(groups.size() == 2u);
  BOOST_TEST(groups[0].pattern == "e.{0,1}.w1");
  BOOST_TEST(groups[1].pattern == "e.{0,1}.w2");
  BOOST_TEST(name_shape("e.0.w1") == name_shape("e.77.w1"));
  BOOST_TEST(name_shape("e.0.w1") != name_shape("e.0.w2"));
}

BOOST_AUTO_TEST_CASE(a_number_beyond_64_bits_is_text) {
  auto a = "x." + std::string(40, '9');
  BOOST_TEST(pattern({a}) == a);
}

BOOST_AUTO_TEST_CASE(a_list_is_bounded) {
  std::vector<std::string> names{"a.0", "a.1", "b", "c", "d"};
  BOOST_TEST(list_names(names, 2) == "a.{0,1} (2), b and 2 more kinds");
  BOOST_TEST(list_names(names, 9) == "a.{0,1} (2), b, c, d");
  BOOST_TEST(group_names({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
