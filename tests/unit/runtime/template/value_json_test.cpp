#include "runtime/template/value_json.hpp"

#include "runtime/template/value_text.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::jinja;

namespace {

/// What comes back from writing what was read, or the error.
std::string rewritten(std::string_view text) {
  auto x = parse_json_value(text, "here");
  if (!x)
    return x.error().message;
  budget spent{limits{}};
  text_builder out{spent};
  BOOST_REQUIRE(append_json(out, *x, {}).has_value());
  return std::string{out.text().bytes()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(template_value_json_suite)

BOOST_AUTO_TEST_CASE(json_comes_back_with_its_keys_in_order) {
  for (auto* text :
       {R"({"z": 1, "a": {"y": [], "b": {}}, "": null})",
        R"([true, false, null, 1, -1, 2.5, 1e+30, "é\"\\\n\t"])",
        R"(9223372036854775807)", R"(-9223372036854775808)", R"("")",
        R"([0.1, 1.0, 100000.0, 1e+16, 1e-05, 0.0001, -0.0])"})
    BOOST_TEST(rewritten(text) == text);
}

BOOST_AUTO_TEST_CASE(bad_json_is_refused_with_its_fault) {
  BOOST_TEST(rewritten(R"({"a": 1, "a": 2})") ==
             "here: not valid JSON: the key a stands twice in one object");
  BOOST_TEST(rewritten(std::string(65, '[')) ==
             "here: not valid JSON: nested deeper than 64");
  BOOST_TEST(rewritten("18446744073709551615")
               .ends_with("whole numbers beyond 64 bits are not supported"));
  BOOST_TEST(rewritten("100000000000000000000000")
               .ends_with("whole numbers beyond 64 bits are not supported"));
  BOOST_TEST(rewritten("[1,").starts_with("here: not valid JSON: at byte"));
  BOOST_TEST(rewritten("\"\xff\"").starts_with("here: not valid JSON"));
  BOOST_TEST(rewritten("").starts_with("here: not valid JSON"));
}

BOOST_AUTO_TEST_CASE(strings_are_the_callers_unless_said_otherwise) {
  auto x = parse_json_value("\"a\"", "here");
  auto y = parse_json_value("\"a\"", "here", origin::scaffolding);
  BOOST_REQUIRE((x && y));
  BOOST_TEST((x->text().from(0) == origin::content));
  BOOST_TEST((y->text().from(0) == origin::scaffolding));
}

BOOST_AUTO_TEST_SUITE_END()
