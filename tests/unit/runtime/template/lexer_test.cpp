// White space, comments, raw text and literals: what the lexer decides.
#include "runtime/template/lexer.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::check_all;

BOOST_AUTO_TEST_SUITE(template_lexer_suite)

BOOST_AUTO_TEST_CASE(a_tag_takes_its_line_with_it) {
  check_all({
    {"  {% if t %}\n x\n  {% endif %}\n y", " x\n y"},
    {"{% for x in l %}\n  - {{ x }}\n{% endfor %}\nend\n",
     "  - 3\n  - 1\n  - 2\nend"},
    {"  {{ s }}\n  {{ n }}\n", "  Hello World\n  5"},
    {"\t{% if t %}x{% endif %} \ny", "x \ny"},
    {"a {% if t %}\nb{% endif %}", "a b"},
    {"{# c #}\nx\n  {# d #}  \ny", "x\n  \ny"},
  });
}

BOOST_AUTO_TEST_CASE(signs_rule_the_white_space_around_a_tag) {
  check_all({
    {"a\n\n  {%- if t %}\nb\n{% endif -%}\n\n c", "ab\nc"},
    {"{% if t -%}\n   x\n{%- endif %}\nq\n", "xq"},
    {"  {%+ if t %}x{% endif %}", "  x"},
    {"{% if t +%}\n x{% endif %}", "\n x"},
    {" \n {%- if t -%} \n x \n {%- endif %}\n", "x"},
    {" {{- s -}} x", "Hello Worldx"},
    {"x {# c #} y\n   {#- d -#}   \nz", "x  yz"},
    {" {%- if t -%} b{% endif %}", "b"},
    {"{{+ s }}", "Hello World"},
  });
}

BOOST_AUTO_TEST_CASE(the_last_line_end_goes_and_all_are_one_kind) {
  check_all({
    {"x\n", "x"},
    {"x\n\n", "x\n"},
    {"\n", ""},
    {"", ""},
    {"line\r\nnext\r\r{{ s }}\r", "line\nnext\n\nHello World"},
  });
}

BOOST_AUTO_TEST_CASE(raw_text_is_left_alone) {
  check_all({
    {"{% raw %}{{ not }} {% if %}{% endraw %}", "{{ not }} {% if %}"},
    {"{% raw -%}   x {%- endraw %}   y", "x   y"},
    {"{% raw %}\n  {{ x }}\n{% endraw %}\nz", "\n  {{ x }}\nz"},
    {"{%raw%} {{x}} {%endraw%}", " {{x}} "},
    {"{%- raw -%} a {%- endraw -%} b", "ab"},
  });
}

BOOST_AUTO_TEST_CASE(literals_are_pythons) {
  check_all({
    {"{{ 'it\\'s \\n \\t \\\\ \\x41 \\u00e9 \\101 \\q' }}",
     "it's \n \t \\ A é A \\q"},
    {"{{ \"a\" \"b\" 'c' }}", "abc"},
    {"{{ 1_000 }}{{ 0x1f }}{{ 0b11 }}{{ 0o17 }}{{ 1.5e3 }}{{ 1E2 }}{{ 2.0 }}",
     "1000313151500.0100.02.0"},
    {"{{ [1, 2, ] }}{{ {'a': 1, } }}{{ (1,) }}{{ () }}{{ (1, 2) }}",
     "[1, 2]{'a': 1}(1,)()(1, 2)"},
    {"{{ '}}' }}{{ '%}' }}{{ {'a': {'b': 1}} }}", "}}%}{'a': {'b': 1}}"},
    {"{{ true }}{{ True }}{{ none }}{{ None }}{{ false }}",
     "TrueTrueNoneNoneFalse"},
    {"{{ 'x\ny' }}", "x\ny"},
  });
}

BOOST_AUTO_TEST_SUITE_END()
