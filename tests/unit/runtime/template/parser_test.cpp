// Templates that are wrong, or do not suit their variables: each error names
// the place and what was found.
#include "runtime/template/parser.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

struct error_case {
  const char* text;
  const char* says; ///< The message from its place on.
};

void check_errors(const std::vector<error_case>& rows) {
  for (auto& row : rows)
    BOOST_TEST(test::render(row.text) == std::string{"error: "} + row.says,
               row.text);
}

} // namespace

BOOST_AUTO_TEST_SUITE(template_parser_suite)

BOOST_AUTO_TEST_CASE(broken_syntax_is_named_with_its_place) {
  auto name = std::string(300, 'x');
  BOOST_TEST(test::render("{{ " + name + " }}") ==
             "error: line 1, column 4: a name of more than 256 bytes");
  check_errors({
    {"{{ x", "line 1, column 1: a tag without its \"}}\""},
    {"a\n {{ \"abc }}", "line 2, column 5: a string without its closing \""},
    {"{# open", "line 1, column 1: a comment \"{#\" without its \"#}\""},
    {"é\n{% raw %}x", "line 2, column 1: {% raw %} without its {% endraw %}"},
    {"{{ 1 + }}", "line 1, column 8: expected an expression, found \"}}\""},
    {"{{ (1 }}", "line 1, column 7: unexpected \"}\", expected \")\""},
    {"{{ ] }}", "line 1, column 4: unexpected \"]\""},
    {"{{ x ? y }}", "line 1, column 6: ?: no such character in an expression"},
    {"{{ a b }}", "line 1, column 6: expected \"}}\", found \"b\""},
    {"{% for x %}", "line 1, column 10: expected \"in\", found \"%}\""},
    {"{% for 1 in l %}{% endfor %}",
     "line 1, column 8: expected a name, found \"1\""},
    {"{% set true = 1 %}",
     "line 1, column 8: \"true\" cannot be given a value"},
    {"x\n{% if t %}y",
     "line 2, column 12: expected \"{% elif %}\" or \"{% else %}\" or "
     "\"{% endif %}\" for \"{% if %}\" of line 2, found the end of the "
     "template"},
    {"{% endif %}", "line 1, column 4: expected a tag (if, for, set, macro, "
                    "...), found \"endif\""},
    {"{% break %}", "line 1, column 4: \"break\" outside of a loop"},
    {"{{ 'a' is string is string }}",
     "line 1, column 18: expected no second test in a row (use \"and\"), found "
     "\"is\""},
    {"{{ 007 }}", "line 1, column 4: 007: a number cannot begin with 0"},
    {"{{ 9223372036854775808 }}",
     "line 1, column 4: 9223372036854775808: expected a number below 2^63"},
    {"{{ '\\u12' }}",
     "line 1, column 4: an escape of a string: expected 4 hex digits"},
    {"{{ '\\ud800' }}",
     "line 1, column 4: an escape of a string: U+D800 is no character"},
    {"{% macro m(a=1, b) %}{% endmacro %}",
     "line 1, column 18: expected \"=\" and a default, as the parameter before "
     "has one, found \")\""},
    {"{{ f(a=1, 2) }}",
     "line 1, column 11: expected an argument with a name, found \"2\""},
    {"\xff", "expected UTF-8, found other bytes"},
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_supported_is_refused_by_name) {
  check_errors({
    {"{% include 'x' %}", "line 1, column 4: the tag \"include\" is not "
                          "supported in chat templates"},
    {"{% for x in l recursive %}{% endfor %}",
     "line 1, column 15: recursive loops are not supported"},
    {"{{ n | nosuch }}", "line 1, column 8: there is no filter \"nosuch\""},
    {"{{ n is nosuch }}", "line 1, column 9: there is no test \"nosuch\""},
    {"{{ '%c' % 5 }}",
     "line 1, column 9: \"%c\": expected one of srdixXofFeEgG"},
  });
  // A filter that is not reached harms nobody.
  BOOST_TEST(test::render("{% if z %}{{ n | nosuch }}{% endif %}x") == "x");
}

BOOST_AUTO_TEST_CASE(undefined_values_fail_only_when_they_are_used) {
  check_errors({
    {"{{ missing.x }}", "line 1, column 11: \"missing\" is undefined"},
    {"{{ missing['x'] }}", "line 1, column 11: \"missing\" is undefined"},
    {"{{ d.q.r }}", "line 1, column 7: a mapping has no member \"q\""},
    {"{{ missing + 1 }}", "line 1, column 12: \"missing\" is undefined"},
    {"{{ missing() }}", "line 1, column 11: \"missing\" is undefined"},
    {"{{ missing < 1 }}", "line 1, column 4: \"missing\" is undefined"},
    {"{{ l[9].x }}", "line 1, column 8: a list of 3 elements has no element 9"},
    {"{{ missing | tojson }}", "line 1, column 14: filter \"tojson\": an "
                               "undefined value cannot be written as JSON"},
  });
}

BOOST_AUTO_TEST_CASE(wrong_kinds_are_named) {
  check_errors({
    {"{{ 'a' + 1 }}",
     "line 1, column 8: \"+\" does not work on a string and an integer"},
    {"{{ [1] + (2,) }}",
     "line 1, column 8: \"+\" does not work on a list and a tuple"},
    {"{{ 'a' < 1 }}",
     "line 1, column 4: \"<\" does not work on a string and an integer"},
    {"{{ 1 in 'a' }}",
     "line 1, column 4: \"in\" does not work on an integer and a string"},
    {"{{ 1 / 0 }}", "line 1, column 6: division by zero"},
    {"{{ 9223372036854775807 + 1 }}",
     "line 1, column 24: a whole number beyond 64 bits"},
    {"{% for x in n %}{% endfor %}",
     "line 1, column 13: expected a list, string or mapping to go through, "
     "found an integer"},
    {"{% for a, b in [(1, 2, 3)] %}{% endfor %}",
     "line 1, column 8: expected 2 values, found 3"},
    {"{% set d.x = 1 %}", "line 1, column 8: \"d.x\": only members of a "
                          "namespace can be set, found a mapping"},
    {"{{ s() }}",
     "line 1, column 5: expected a function to call, found a string"},
    {"{{ n | length }}",
     "line 1, column 8: filter \"length\": an integer has no length"},
    {"{{ l | select('odd') | length }}",
     "line 1, column 24: filter \"length\": an iterator has no length (\"| "
     "list\" makes it a list)"},
    {"{{ [1, 'a'] | sort }}", "line 1, column 15: filter \"sort\": a string "
                              "and an integer have no order"},
    {"{{ {[1]: 2} }}", "line 1, column 5: a list cannot be a key"},
    {"{{ s.index('q') }}", "line 1, column 11: index(): substring not found"},
    {"{{ s.split(1, 2, 3) }}",
     "line 1, column 11: split(): expected at most 2 arguments, found 3"},
    {"{{ s | trim(x=1) }}", "line 1, column 8: filter \"trim\": there is no "
                            "argument \"x\""},
    {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
     "line 1, column 1: macro \"m\": expected at most 1 arguments, found 2"},
    {"{{ l[1:2:0] }}", "line 1, column 5: the step of a slice cannot be 0"},
    {"{{ range }}", "line 1, column 4: a function cannot be printed"},
  });
}

BOOST_AUTO_TEST_CASE(lists_and_mappings_cannot_be_changed) {
  check_errors({
    {"{{ l.append(4) }}",
     "line 1, column 12: \"append\" would change a list: a template cannot do "
     "that (\"+\" makes a new list)"},
    {"{{ d.update({}) }}",
     "line 1, column 12: \"update\" would change a mapping: a template cannot "
     "do that (\"+\" makes a new list)"},
  });
}

BOOST_AUTO_TEST_CASE(a_template_can_refuse_a_conversation) {
  check_errors({
    {"a\n{{ raise_exception('Roles must alternate') }}",
     "line 2, column 19: the template refuses the conversation: Roles must "
     "alternate"},
  });
}

BOOST_AUTO_TEST_CASE(the_time_is_there_only_if_it_is_given) {
  auto parsed = jinja::prompt_template::parse("{{ strftime_now('%Y') }}");
  BOOST_REQUIRE(parsed.has_value());
  auto out = parsed->render({});
  BOOST_REQUIRE(!out.has_value());
  BOOST_TEST((out.error().code == ec::unsupported));
  check_errors({{"{{ strftime_now('%99999d') }}",
                 "line 1, column 16: strftime_now(): expected a format such as "
                 "\"%d %b %Y\", found \"%99999d\""}});
}

BOOST_AUTO_TEST_SUITE_END()
