// Statements: loops, conditions, variables and macros.
#include "runtime/template/evaluator.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::check_all;

BOOST_AUTO_TEST_SUITE(template_evaluator_suite)

BOOST_AUTO_TEST_CASE(a_loop_knows_where_it_is) {
  check_all({
    {"{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ "
     "loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ x "
     "}},{% endfor %}",
     "1032TrueFalse33,2121FalseFalse31,3210FalseTrue32,"},
    {"{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }};{% "
     "endfor %}",
     "<3>1;3<1>2;1<2>;"},
    {"{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.depth }}{{ loop.depth0 "
     "}}{% endfor %}",
     "a10b10a10"},
    {"{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
     "TrueFalseTrue"},
    {"{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ "
     "loop.index }}{% endfor %}",
     "123112321233"},
  });
}

BOOST_AUTO_TEST_CASE(loops_go_through_what_can_be_gone_through) {
  check_all({
    {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
     "b=1;a={'c': 'x'};"},
    {"{% for k in d %}{{ k }},{% endfor %}", "b,a,"},
    {"{% for c in 'añb' %}[{{ c }}]{% endfor %}", "[a][ñ][b]"},
    {"{% for x in missing %}x{% else %}empty{% endfor %}", "empty"},
    {"{% for x in e %}x{% else %}empty{% endfor %}", "empty"},
    {"{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
     "123"},
    {"{% for (a, b) in [[1, 2]] %}{{ a + b }}{% endfor %}", "3"},
  });
}

BOOST_AUTO_TEST_CASE(a_loop_can_pick_and_end) {
  check_all({
    {"{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} {{ loop.length }},{% "
     "endfor %}",
     "1:3 2,2:2 2,"},
    {"{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}", "none"},
    {"{% for x in range(10) %}{% if x == 3 %}{% continue %}{% endif %}{% if x "
     "== 6 %}{% break %}{% endif %}{{ x }}{% endfor %}",
     "01245"},
  });
}

BOOST_AUTO_TEST_CASE(conditions_take_the_first_true_branch) {
  check_all({
    {"{% if z %}1{% elif t %}2{% else %}3{% endif %}", "2"},
    {"{% if z %}1{% elif missing %}2{% else %}3{% endif %}", "3"},
    {"{% if n > 3 and n < 10 %}in{% endif %}", "in"},
    {"{% if t: %}x{% endif %}", "x"},
  });
}

BOOST_AUTO_TEST_CASE(set_stays_within_its_block) {
  check_all({
    {"{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}", "12"},
    {"{% set x = 1 %}{% for i in l %}{{ x }}{% set x = x + i %}{{ x }};{% "
     "endfor %}{{ x }}",
     "14;12;13;1"},
    {"{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12"},
    {"{% if t %}{% set q = 1 %}{% endif %}{{ q }}", "1"},
    {"{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "15"},
  });
}

BOOST_AUTO_TEST_CASE(namespaces_carry_values_out_of_loops) {
  check_all({
    {"{% set ns = namespace(a=1, b='x') %}{% for i in l %}{% set ns.a = ns.a + "
     "i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}{{ ns.q is defined }}",
     "7x7False"},
    {"{% set ns = namespace({'a': 1}) %}{% set ns.a, ns.b = 3, 4 %}{{ ns.a "
     "}}{{ ns.b }}",
     "34"},
    {"{% set x = namespace() %}{% set x.a = x %}{{ x.a.a is defined }}",
     "True"},
  });
}

BOOST_AUTO_TEST_CASE(blocks_can_be_captured_and_filtered) {
  check_all({
    {"{% set x %}block {{ n }}{% endset %}{{ x }}{{ x | length }}", "block 57"},
    {"{% set x | upper | trim %} block{% endset %}{{ x }}", "BLOCK"},
    {"{% set x %}{% set y = 3 %}{% endset %}{{ y }}", ""},
    {"{% filter replace('a', 'b') | upper %}aac{% endfilter %}", "BBC"},
    {"{% generation %}gen {{ n }}{% endgeneration %}", "gen 5"},
  });
}

BOOST_AUTO_TEST_CASE(macros_take_defaults_and_names) {
  check_all({
    {"{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) "
     "}}|{{ m(1, 3) }}|{{ m(1, c='z') }}|{{ m(a=5) }}|{{ m() }}|{{ m(*[1, 2]) "
     "}}|{{ m(**{'b': 7}) }}",
     "12x|13x|12z|52x|2x|12x|7x"},
    {"{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% "
     "endmacro %}{{ f(5) }}",
     "54321"},
    {"{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in {{ n }}{% "
     "endcall %}",
     "[in 5]"},
    {"{% macro m() %}[{{ caller(7) }}]{% endmacro %}{% call(x) m() %}in {{ x "
     "}}{% endcall %}",
     "[in 7]"},
    {"{% macro a() %}{{ n }}{% endmacro %}{% set n = 9 %}{{ a() }}", "9"},
    {"{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}{{ "
     "inner() }}{% endmacro %}{{ outer() }}",
     "ii"},
  });
}

BOOST_AUTO_TEST_SUITE_END()
