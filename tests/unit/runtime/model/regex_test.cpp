#include "runtime/model/regex.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

/// All matches of `pattern` in `text`, joined with "|".
std::string matches(std::string_view pattern, std::string_view text) {
  auto compiled = regex::compile(pattern);
  BOOST_REQUIRE(compiled.has_value());
  regex_scanner scanner{*compiled};
  std::string out;
  for (size_t from = 0; from < text.size();) {
    auto found = scanner.find(text, from);
    BOOST_REQUIRE(found.has_value());
    if (!*found)
      break;
    auto x = **found;
    if (!out.empty())
      out += '|';
    out += text.substr(x.begin, x.end - x.begin);
    from = x.end;
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(regex_suite)

BOOST_AUTO_TEST_CASE(white_space_is_that_of_unicode) {
  // U+180E is none (PCRE2's own \s takes it), U+0085 and U+3000 are.
  BOOST_TEST(matches(R"(\S+)", "a\xE1\xA0\x8E"
                               "b\xC2\x85"
                               "c\xE3\x80\x80"
                               "d") == "a\xE1\xA0\x8E"
                                       "b|c|d");
  BOOST_TEST(matches(R"([^\s]+)", "a b") == "a|b");
}

BOOST_AUTO_TEST_CASE(a_script_is_the_script_alone) {
  // U+30FC belongs to Hiragana and Katakana by extension only.
  BOOST_TEST(matches(R"(\p{Hiragana}+)", "\xE3\x81\x8B\xE3\x83\xBC") ==
             "\xE3\x81\x8B");
}

BOOST_AUTO_TEST_CASE(anchors_mean_lines) {
  BOOST_TEST(matches("^.", "ab\ncd") == "a|c");
  BOOST_TEST(matches(".$", "ab\ncd") == "b|d");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_translated_is_refused) {
  for (auto* pattern : {"[a[b]]", "[a&&b]", R"(\h)", R"([\S])"}) {
    auto x = regex::compile(pattern);
    BOOST_REQUIRE(!x.has_value());
    BOOST_TEST((x.error().code == ec::unsupported));
  }
  for (auto* pattern :
       {"", "(", "[a", "a{3,1}", R"(\p{Nonsense})", "\xFF", R"(\C)", "\\"}) {
    auto x = regex::compile(pattern);
    BOOST_REQUIRE_MESSAGE(!x.has_value(), pattern);
    BOOST_TEST((x.error().code == ec::bad_format));
  }
  BOOST_TEST(!regex::compile(std::string(20000, 'a')).has_value());
}

BOOST_AUTO_TEST_CASE(a_pattern_that_explodes_ends_in_an_error) {
  auto compiled = regex::compile("(a+)+b|(a|a)*c");
  BOOST_REQUIRE(compiled.has_value());
  regex_scanner scanner{*compiled};
  auto found = scanner.find(std::string(64, 'a'), 0);
  BOOST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
