// Whose words are whose, through everything that a template can do with them.
#include "runtime/template/marked_text.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

struct marked_case {
  const char* text;
  const char* expected;
  const char* marks; ///< S: the template's, C: the caller's.
};

} // namespace

BOOST_AUTO_TEST_SUITE(template_marked_text_suite)

BOOST_AUTO_TEST_CASE(each_character_keeps_its_author) {
  auto variables = test::variables_of(
    R"json({"c": "ab", "p": " Äb,c ", "m": {"k": "v\n"}, "l": ["x", "y"]})json");
  const marked_case rows[] = {
    {"<{{ c }}>", "<ab>", "SCCS"},
    {"{{ 'x' + c ~ 'y' }}", "xaby", "SCCS"},
    {"{{ c * 2 }}", "abab", "CCCC"},
    {"{{ c[::-1] }}{{ c[0] }}{{ c | first }}", "baaa", "CCCC"},
    {"{{ p.strip() }}|{{ p | trim }}", "Äb,c|Äb,c", "CCCCSCCCC"},
    {"{{ p | upper }}{{ c.title() }}", " ÄB,C Ab", "CCCCCCCC"},
    {"{{ p.split(',')[1] }}", "c ", "CC"},
    {"{{ l | join('-') }}{{ ', '.join(l) }}", "x-yx, y", "CSCCSSC"},
    {"{{ c.replace('a', 'zz') }}{{ 'a.'.replace('.', c) }}", "zzbaab",
     "SSCSCC"},
    {"{{ '%s=%3s|' % (c, c) }}", "ab= ab|", "CCSSCCS"},
    {"{{ '{}:{x}'.format(c, x=c) }}", "ab:ab", "CCSCC"},
    {"{{ m | tojson }}", "{\"k\": \"v\\n\"}", "SSCSSSSCCCSS"},
    {"{{ m }}", "{'k': 'v\\n'}", "SSCSSSSCCCSS"},
    {"{{ '<' ~ c | e }}{{ '<b>' | e }}", "<ab&lt;b&gt;", "SCCSSSSSSSSS"},
    {"{{ c | indent('> ', true) }}", "> ab", "SSCC"},
    {"{% set x %}({{ c }}){% endset %}{{ x }}", "(ab)", "SCCS"},
    {"{% macro f(a) %}[{{ a }}]{% endmacro %}{{ f(c) }}", "[ab]", "SCCS"},
    {"{% filter upper %}x{{ c }}{% endfilter %}", "XAB", "SCC"},
    {"{% for ch in c %}{{ ch }},{% endfor %}", "a,b,", "CSCS"},
    {"{{ c | length }}{{ c == 'ab' }}", "2True", "SSSSS"},
    {"{{ c | default('x') }}{{ q | default('x') }}", "abx", "CCS"},
    {"{{ l | sort(reverse=true) | map('upper') | join }}", "YX", "CC"},
    {"{{ l | reverse | join }}{{ c | list | join }}", "yxab", "CCCC"},
    {"{{ c.splitlines() | first }}{{ c.rsplit(none, 1) | last }}", "abab",
     "CCCC"},
  };
  for (auto& row : rows) {
    auto parsed = jinja::prompt_template::parse(row.text);
    BOOST_REQUIRE_MESSAGE(parsed.has_value(), row.text);
    auto out = parsed->render(variables);
    BOOST_REQUIRE_MESSAGE(out.has_value(),
                          row.text << ": " << out.error().message);
    BOOST_TEST(out->bytes() == row.expected, row.text);
    BOOST_TEST(test::marks_of(*out) == row.marks, row.text);
  }
}

BOOST_AUTO_TEST_CASE(pieces_change_where_the_author_changes) {
  jinja::marked_text x{"ab", jinja::origin::scaffolding};
  x.append("c", jinja::origin::scaffolding);
  x.append("de", jinja::origin::content);
  x.append("", jinja::origin::scaffolding);
  x.append("f", jinja::origin::content);
  auto pieces = x.pieces();
  BOOST_REQUIRE(pieces.size() == 2u);
  BOOST_TEST(pieces[0].text == "abc");
  BOOST_TEST((pieces[0].from == jinja::origin::scaffolding));
  BOOST_TEST(pieces[1].text == "def");
  BOOST_TEST((pieces[1].from == jinja::origin::content));
  BOOST_TEST(jinja::marked_text{}.pieces().empty());
}

BOOST_AUTO_TEST_SUITE_END()
