// What a template may cost is bounded, and no input crashes it.
#include "runtime/template/budget.hpp"

#include "runtime/template/value_json.hpp"
#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;

namespace {

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

/// Small enough to be reached soon.
jinja::render_options small_options() {
  jinja::render_options x;
  x.most.steps_max = 20'000;
  x.most.bytes_max = size_t{8} << 20;
  x.most.text_bytes_max = size_t{1} << 20;
  x.most.items_max = 10'000;
  return x;
}

/// The message if `text` crosses a bound.
std::string crossed_bound(std::string_view text) {
  auto parsed = jinja::prompt_template::parse(text);
  auto failure = parsed ? std::optional<error>{} : parsed.error();
  if (parsed)
    if (auto out = parsed->render(test::sample_variables(), small_options());
        !out)
      failure = out.error();
  if (!failure)
    return "no failure";
  return failure->code == ec::out_of_memory ? failure->message
                                            : "other: " + failure->message;
}

} // namespace

BOOST_AUTO_TEST_SUITE(template_budget_suite)

BOOST_AUTO_TEST_CASE(work_and_memory_are_bounded) {
  struct row {
    std::string text;
    const char* says;
  };
  const row rows[] = {
    {"{{ 'x' * 10 ** 9 }}", "a text of more than"},
    {"{{ range(10 ** 12) }}", "a list of more than"},
    {"{{ [1] * 10 ** 9 }}", "a list of more than"},
    {"{% set ns = namespace(x='x' * 1000) %}{% for i in range(100) %}"
     "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
     "a text of more than"},
    {"{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}"
     "{% endfor %}",
     "more than 20000 steps"},
    {"{% for a in range(9000) if a %}{% for b in range(9000) if b %}{% endfor "
     "%}{% endfor %}",
     "more than 20000 steps"},
    {"{% set x = 'x' * 10 ** 5 %}{% for a in range(1000) %}"
     "{% set y = x | replace('x', 'yy') %}{% endfor %}",
     "bytes of work"},
    {"{% set x = 'x' * 10 ** 5 %}{% for a in range(9000) %}"
     "{{ 'y' in x }}{% endfor %}",
     "bytes of work"},
    {"{% set x = 'x' * 10 ** 5 %}{% for a in range(9000) %}"
     "{{ {x: 1}[x] }}{% endfor %}",
     "bytes of work"},
    {"{{ ('a' * 10 ** 5).replace('a', 'b' * 10 ** 5) }}",
     "a text of more than"},
    {"{{ 'x' | indent(10 ** 12, true) }}", "a text of more than"},
    {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nesting deeper than"},
    {"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}"
     "{% set ns.x = [ns.x] %}{% endfor %}",
     "nesting deeper than"},
    // A list that holds one list twice, and that one another, and so on.
    {"{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
     "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
     "a text of more than"},
    {"{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}"
     "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}"
     "{{ ns.x == ns.y }}",
     "bytes of work"},
  };
  for (auto& row : rows)
    BOOST_TEST(crossed_bound(row.text).find(row.says) != std::string::npos,
               row.text << ": " << crossed_bound(row.text));
}

BOOST_AUTO_TEST_CASE(nested_syntax_is_bounded) {
  for (auto& text :
       {repeated("{% if t %}", 5000),
        "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}",
        "{{ " + repeated("not ", 5000) + "1 }}",
        "{{ " + repeated("-", 5000) + "1 }}",
        "{{ 1" + repeated(" + 1", 5000) + " }}",
        "{{ d" + repeated(".a", 5000) + " }}",
        "{{ s" + repeated("|trim", 5000) + " }}",
        "{{ 1" + repeated(" if 1", 5000) + " }}",
        "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}",
        "{{ " + repeated("{1:", 5000) + repeated("}", 5000) + " }}"})
    BOOST_TEST(crossed_bound(text).find("nested deeper than") !=
                 std::string::npos,
               text.substr(0, 20) << ": " << crossed_bound(text));
  // What is long but not deep is no matter.
  BOOST_TEST(test::render("{{ 1" + repeated(" ~ 1", 5000) + " }}").size() ==
             5001u);
}

BOOST_AUTO_TEST_CASE(a_tuple_that_is_too_large_cannot_be_a_key) {
  BOOST_TEST(
    test::render("{% set ns = namespace(x=(1,)) %}{% for i in range(60) %}"
                 "{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}")
      .find("a tuple cannot be a key") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_template_has_a_largest_size) {
  auto parsed = jinja::prompt_template::parse(std::string(2 << 20, 'x'));
  BOOST_REQUIRE(!parsed.has_value());
  BOOST_TEST(parsed.error().message ==
             "expected at most 1048576 bytes, found 2097152");
}

BOOST_AUTO_TEST_CASE(no_sequence_of_words_crashes_it) {
  static constexpr std::string_view words[] = {
    "{{",     "}}",      "{%",       "%}",     "{#",        "#}",
    "-",      "if",      "for",      "x",      "in",        "l",
    "endfor", "endif",   "else",     "set",    "=",         "(",
    ")",      "[",       "]",        "{",      "}",         ":",
    ",",      ".",       "|",        "upper",  "items",     "'a'",
    "\"\\n",  "1",       "2.5",      "**",     "//",        "~",
    "not",    "is",      "defined",  "macro",  "endmacro",  "namespace",
    "ns",     "\n",      " ",        "é",      "\xff",      "range(9)",
    "%",      "map",     "tojson",   "sort",   "'%5s' % l", "loop.index",
    "call",   "endcall", "filter",   "endset", "raw",       "endraw",
    "[::-1]", "split()", "groupby(", "sum",    "caller()",  "d",
  };
  constexpr unsigned seed = 20240704;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 4000; ++round) {
    std::string text = round % 2 == 0 ? "{{ " : "{% ";
    for (auto count = random() % 24; count > 0; --count) {
      text += words[random() % std::size(words)];
      text += ' ';
    }
    text += round % 2 == 0 ? " }}" : " %}";
    jinja::exercise(text, R"({"l": [1, "b"], "x": "é", "d": {"a": [2]}})");
  }
}

BOOST_AUTO_TEST_CASE(no_damage_to_a_template_crashes_it) {
  const std::string whole =
    "{%- for m in messages if m.role != 'x' -%}{% set c = m.content | trim %}"
    "{{ '<|' ~ m.role + '|>' + c[::2] }}{% if loop.last and not m.t %}"
    "{{ m | tojson(indent=2) }}{% else %}{{ '%s' % (c,) }}{% endif %}"
    "{%- endfor %}{% macro f(a, b=[1]) %}{{ a ~ b }}{% endmacro %}{{ f(1) }}";
  constexpr unsigned seed = 13;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 4000; ++round) {
    auto text = whole;
    for (auto count = 1 + random() % 4; count > 0; --count) {
      auto at = random() % text.size();
      if (random() % 2 == 0)
        text.erase(at, 1 + random() % 8);
      else
        text.insert(at, 1, static_cast<char>(random() % 256));
      if (text.empty())
        text = whole;
    }
    jinja::exercise(text,
                    R"({"messages": [{"role": "user", "content": " Hi "}]})");
  }
}

BOOST_AUTO_TEST_SUITE_END()
