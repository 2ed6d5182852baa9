#include "runtime/engine/stop_matcher.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;

namespace {

stop_matcher matcher_for(std::vector<std::string> stops) {
  auto out = stop_matcher::make(std::move(stops), {});
  BOOST_REQUIRE(out.has_value());
  return *out;
}

/// What comes out of `text` cut at random, with "#" at a stop.
std::string run(const std::vector<std::string>& stops, std::string_view text,
                std::mt19937& random) {
  auto matcher = matcher_for(stops);
  std::string out;
  while (!text.empty()) {
    auto length = 1 + random() % text.size();
    auto x = matcher.push(text.substr(0, length));
    text.remove_prefix(length);
    out += x.text;
    if (x.stopped)
      return out + "#";
  }
  return out + matcher.flush();
}

/// The same by the rule, from the whole text.
std::string run_whole(const std::vector<std::string>& stops,
                      std::string_view text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops)
      if (text.substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    if (longest > 0)
      return std::string{text.substr(0, end - longest)} + "#";
  }
  return std::string{text};
}

} // namespace

BOOST_AUTO_TEST_SUITE(stop_matcher_suite)

BOOST_AUTO_TEST_CASE(a_stop_string_is_found_across_pieces) {
  auto matcher = matcher_for({"\n\nUser:"});
  BOOST_TEST(matcher.push("Hello\n").text == "Hello");
  BOOST_TEST(matcher.push("\nUs").text.empty());
  auto last = matcher.push("er: more");
  BOOST_TEST(last.stopped);
  BOOST_TEST(last.text.empty());
  BOOST_TEST(matcher.push("and more").text.empty());
  BOOST_TEST(matcher.push("and more").stopped);
  BOOST_TEST(matcher.flush().empty());
}

BOOST_AUTO_TEST_CASE(text_held_back_in_vain_comes_later) {
  auto matcher = matcher_for({"abcd"});
  BOOST_TEST(matcher.push("xab").text == "x");
  BOOST_TEST(matcher.push("c").text.empty());
  BOOST_TEST(matcher.push("abc").text == "abc");
  BOOST_TEST(matcher.flush() == "abc");
}

BOOST_AUTO_TEST_CASE(the_result_does_not_depend_on_the_pieces) {
  auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  auto word = [&](size_t length) {
    std::string out;
    for (size_t i = 0; i < length; ++i)
      out += "ab"[random() % 2];
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      stops.push_back(word(1 + random() % 6));
    auto text = word(1 + random() % 30);
    BOOST_REQUIRE_MESSAGE(run(stops, text, random) == run_whole(stops, text),
                          "seed " << seed << ", round " << round);
  }
}

BOOST_AUTO_TEST_CASE(without_stop_strings_nothing_is_held_back) {
  auto matcher = matcher_for({});
  BOOST_TEST(matcher.push("abc").text == "abc");
}

BOOST_AUTO_TEST_CASE(stop_ids_are_known) {
  auto matcher = stop_matcher::make({}, {7, 2});
  BOOST_REQUIRE(matcher.has_value());
  BOOST_TEST(matcher->is_stop_id(2));
  BOOST_TEST(matcher->is_stop_id(7));
  BOOST_TEST(!matcher->is_stop_id(3));
}

BOOST_AUTO_TEST_CASE(unbounded_or_ill_formed_stops_are_refused) {
  using strings = std::vector<std::string>;
  for (const auto& stops : {strings{""}, strings{std::string(257, 'a')},
                            strings{"\xFF"}, strings(17, "a")}) {
    auto x = stop_matcher::make(stops, {});
    BOOST_REQUIRE(!x.has_value());
    BOOST_TEST((x.error().code == ec::invalid_argument));
  }
  BOOST_TEST(
    stop_matcher::make(strings(16, std::string(256, 'a')), {}).has_value());
  BOOST_TEST(!stop_matcher::make({}, std::vector<token_id>(65)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
