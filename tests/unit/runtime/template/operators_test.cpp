// Operators, subscripts and slices, as Python has them.
#include "runtime/template/operators.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::check_all;

BOOST_AUTO_TEST_SUITE(template_operators_suite)

BOOST_AUTO_TEST_CASE(arithmetic_is_pythons) {
  check_all({
    {"{{ 1 + 2 * 3 - 4 / 2 }}", "5.0"},
    {"{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7.5 "
     "% 2 }} {{ 7.5 // 2 }}",
     "3 -4 1 2 -2 0.5 3.0"},
    {"{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 1 ** "
     "99999999999 }}",
     "1024 0.5 64 4 1"},
    {"{{ -n }}{{ +n }}{{ - -n }}{{ +t }}", "-5551"},
    {"{{ 0.1 + 0.2 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.0001 }} {{ 1e22 }} {{ 1.0 }}",
     "0.30000000000000004 1e+16 1e-05 0.0001 1e+22 1.0"},
    {"{{ -9223372036854775807 - 1 }}", "-9223372036854775808"},
  });
}

BOOST_AUTO_TEST_CASE(strings_and_lists_add_and_repeat) {
  check_all({
    {"{{ 'a' + 'b' }}{{ 'a' * 3 }}{{ 3 * 'ab' }}{{ 'a' * -1 }}", "abaaaababab"},
    {"{{ [1] + [2] }}{{ [1] * 2 }}{{ (1,) + (2,) }}", "[1, 2][1, 1](1, 2)"},
    {"{{ 'a' ~ 1 ~ none ~ true ~ missing ~ 1.5 }}", "a1NoneTrue1.5"},
  });
}

BOOST_AUTO_TEST_CASE(comparisons_chain_and_contain) {
  check_all({
    {"{{ 1 < 2 < 3 }}{{ 1 < 2 > 3 }}{{ 1 == 1.0 }}{{ true == 1 }}{{ 'a' < 'b' "
     "}}{{ [1, 2] < [1, 3] }}{{ none == false }}",
     "TrueFalseTrueTrueTrueTrueFalse"},
    {"{{ 'ell' in s }}{{ 'x' not in s }}{{ 3 in l }}{{ 'b' in d }}{{ 9 in "
     "missing }}{{ not 3 in l }}",
     "TrueTrueTrueTrueFalseFalse"},
    {"{{ {'a': 1} == {'a': 1} }}{{ (1,) == [1] }}{{ missing == other }}",
     "TrueFalseTrue"},
  });
}

BOOST_AUTO_TEST_CASE(logic_gives_its_operands) {
  check_all({
    {"{{ z or 'dflt' }}{{ z and 1 }}{{ n and s }}{{ not z and t }}",
     "dfltHello WorldTrue"},
    {"{{ 'yes' if t else 'no' }}{{ 'yes' if z }}{{ 'a' if z else 'b' if t else "
     "'c' }}",
     "yesb"},
    {"{{ 1 if t else 2 + 3 }}{{ (1 if z else 2) + 3 }}", "15"},
  });
}

BOOST_AUTO_TEST_CASE(elements_and_slices_are_pythons) {
  check_all({
    {"{{ l[0] }}{{ l[-1] }}{{ l[1:] }}{{ l[::-1] }}{{ l[:-1] }}{{ l[5] }}{{ "
     "l.0 }}",
     "32[1, 2][2, 1, 3][3, 1]3"},
    {"{{ s[0] }}{{ s[-1] }}{{ s[1:3] }}{{ s[::-1] }}{{ s[::2] }}{{ s[10:2:-2] "
     "}}",
     "HdeldlroW olleHHloWrddrWo"},
    {"{{ u[::-1] }}{{ u[2:5] }}{{ u[3] }}|{{ u[9:] }}", "ß üöäü ß |"},
    {"{{ l[100:] }}{{ l[:100] }}{{ l[-100:2] }}{{ l[::-2] }}",
     "[][3, 1, 2][3, 1][2, 3]"},
    {"{{ d.a.c }}{{ d['a']['c'] }}{{ d.q }}{{ d['q'] is undefined }}",
     "xxTrue"},
  });
}

BOOST_AUTO_TEST_CASE(percent_formats) {
  check_all({
    {"{{ '%s is %d and %5.2f|%-5s|%05d|%x|%%' % ('a', 3, 2.5, 'b', 42, 255) }}",
     "a is 3 and  2.50|b    |00042|ff|%"},
    {"{{ '%s' % 'x' }}{{ '%s' % l }}", "x[3, 1, 2]"},
    {"{{ '%(a)s-%(b)s' % {'a': 1, 'b': 'q'} }}", "1-q"},
    {"{{ '%+d % d %e %g %i' % (3, 4, 1234.5, 0.0001, 7) }}",
     "+3  4 1.234500e+03 0.0001 7"},
    {"{{ '%r' % \"it's\" }}{{ '%.2s' % 'abc' }}{{ '%5s|' % 'ab' }}{{ '%.1f' % "
     "2 }}",
     "\"it's\"ab   ab|2.0"},
  });
}

BOOST_AUTO_TEST_CASE(values_print_as_in_python) {
  check_all({
    {"{{ [none, true, 1.0, 'x', {'a': none}, (1,)] }}",
     "[None, True, 1.0, 'x', {'a': None}, (1,)]"},
    {"{{ [\"it's\", 'q\"', 'a\\'b\"c', '\\n\\t\\\\', 'é\\u200b\\x01'] }}",
     "[\"it's\", 'q\"', 'a\\'b\"c', '\\n\\t\\\\', 'é\\u200b\\x01']"},
    {"{{ l }}|{{ d }}|{{ nul }}|{{ missing }}|{{ [missing] }}|{{ e }}|{{ {} }}",
     "[3, 1, 2]|{'b': 1, 'a': {'c': 'x'}}|None||[Undefined]|[]|{}"},
  });
}

BOOST_AUTO_TEST_SUITE_END()
