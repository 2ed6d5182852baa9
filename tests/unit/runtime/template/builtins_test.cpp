// Filters, tests, methods and functions by name.
#include "runtime/template/builtins.hpp"

#include "tests/unit/runtime/template/rendering_samples.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::check_all;

BOOST_AUTO_TEST_SUITE(template_builtins_suite)

BOOST_AUTO_TEST_CASE(string_methods_are_pythons) {
  check_all({
    {"{{ s.upper() }}{{ s.lower() }}{{ s.title() }}{{ 'hELLO "
     "wORLD'.capitalize() }}{{ \"it's a-b\".title() }}",
     "HELLO WORLDhello worldHello WorldHello worldIt'S A-B"},
    {"{{ '  x '.strip() }}|{{ '  x '.lstrip() }}|{{ '  x '.rstrip() }}|{{ "
     "'xxaxx'.strip('x') }}|{{ 'abcxcba'.strip('ab') }}|{{ "
     "'\\n\\nx\\n'.strip('\\n') }}",
     "x|x |  x|a|cxc|x"},
    {"{{ s.startswith('He') }}{{ s.endswith('ld') }}{{ s.startswith(('x', "
     "'H')) }}{{ s.startswith('lo', 3) }}",
     "TrueTrueTrueTrue"},
    {"{{ s.replace('l', 'L') }}{{ s.replace('l', 'L', 1) }}{{ "
     "'abc'.replace('', '-') }}{{ 'abc'.replace('', '-', 2) }}",
     "HeLLo WorLdHeLlo World-a-b-c--a-bc"},
    {"{{ s.find('o') }}{{ s.rfind('o') }}{{ s.find('zz') }}{{ s.count('l') "
     "}}{{ u.find('ß') }}{{ s.index('W') }}{{ 'aaa'.count('aa') }}{{ "
     "'abc'.count('') }}",
     "47-134614"},
    {"{{ ', '.join(['a', 'b']) }}", "a, b"},
    {"{{ '{} and {}'.format(1, 'x') }}{{ '{0}{1}{0}'.format('a', 'b') }}{{ "
     "'{a}'.format(a=3) }}{{ '{{}}'.format() }}",
     "1 and xaba3{}"},
    {"{{ '12'.isdigit() }}{{ 'ab'.isalpha() }}{{ 'a1'.isalnum() }}{{ ' "
     "'.isspace() }}{{ ''.isdigit() }}",
     "TrueTrueTrueTrueFalse"},
    {"{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }}", "bcab"},
    {"{{ u.upper() }}{{ 'ÄÖ'.lower() }}", "ÄÖÜ SSäö"},
  });
}

BOOST_AUTO_TEST_CASE(strings_split) {
  check_all({
    {"{{ 'a,b,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ "
     "'a,b,c'.rsplit(',', 1) }}{{ ''.split(',') }}",
     "['a', 'b', 'c']['a', 'b,c']['a,b', 'c']['']"},
    {"{{ ' a  b '.split() }}{{ ' a  b c '.split(none, 1) }}{{ ' a b  c "
     "'.rsplit(none, 1) }}{{ ''.split() }}{{ ' a b '.split(none, 0) }}",
     "['a', 'b']['a', 'b c '][' a b', 'c'][]['a b ']"},
    {"{{ 'a\\nb\\r\\nc\\n'.splitlines() }}{{ 'a\\nb'.splitlines(true) }}",
     "['a', 'b', 'c']['a\\n', 'b']"},
  });
}

BOOST_AUTO_TEST_CASE(mappings_have_methods_before_members) {
  check_all({
    {"{{ d.get('b') }}{{ d.get('q') }}{{ d.get('q', 5) }}{{ d.keys() | list "
     "}}{{ d.values() | list }}{{ d.items() | list }}",
     "1None5['b', 'a'][1, {'c': 'x'}][('b', 1), ('a', {'c': 'x'})]"},
    {"{{ l.index(1) }}{{ l.count(3) }}", "11"},
  });
}

BOOST_AUTO_TEST_CASE(text_filters_give_text) {
  check_all({
    {"{{ s | upper }}{{ s | lower }}{{ 'foo bar-baz (qux' | title }}{{ 'hELLO' "
     "| capitalize }}{{ '  x ' | trim }}{{ 'xxax' | trim('x') }}",
     "HELLO WORLDhello worldFoo Bar-Baz (QuxHelloxa"},
    {"{{ l | join }}{{ l | join(', ') }}{{ objs | join('-', attribute='n') "
     "}}{{ missing | join }}",
     "3123, 1, 2x-y-X"},
    {"{{ s | replace('o', '0') }}{{ s | replace('l', 'L', 1) }}{{ 5 | "
     "replace('5', '6') }}",
     "Hell0 W0rldHeLlo World6"},
    {"{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2) }}|{{ 'a\\nb' | "
     "indent(2, true) }}|{{ 'a\\n\\nb' | indent(2, blank=true) }}|{{ 'a\\nb' | "
     "indent('> ') }}|{{ 'a\\n' | indent }}|{{ '' | indent }}",
     "a\n    b\n\n    c|a\n  b|  a\n  b|a\n  \n  b|a\n> b|a\n|"},
    {"{{ '<a href=\"x\">&' | e }}{{ '<' | escape }}{{ '<b>' | safe }}",
     "&lt;a href=&#34;x&#34;&gt;&amp;&lt;<b>"},
    {"{{ 5 | string }}{{ l | string }}{{ (5 | string) + 'x' }}",
     "5[3, 1, 2]5x"},
    {"{{ '%s-%s' | format(1, 'b') }}{{ '%(x)s' | format(x=3) }}", "1-b3"},
  });
}

BOOST_AUTO_TEST_CASE(list_filters_go_through_lists) {
  check_all({
    {"{{ l | length }}{{ s | length }}{{ u | length }}{{ d | length }}{{ "
     "missing | length }}{{ e | count }}",
     "3115200"},
    {"{{ l | first }}{{ l | last }}{{ e | first }}{{ s | first }}{{ s | last "
     "}}",
     "32Hd"},
    {"{{ l | sort }}{{ words | sort }}{{ words | sort(case_sensitive=true) "
     "}}{{ l | sort(reverse=true) }}{{ objs | sort(attribute='n,v') | "
     "map(attribute='v') | join }}{{ [none, none] | sort }}",
     "[1, 2, 3]['A', 'a', 'b', 'c']['A', 'a', 'b', 'c'][3, 2, 1]231[None, "
     "None]"},
    {"{{ d | dictsort }}{{ d | dictsort(reverse=true) }}{{ {'b': 2, 'A': 3, "
     "'c': 1} | dictsort(by='value') }}",
     "[('a', {'c': 'x'}), ('b', 1)][('b', 1), ('a', {'c': 'x'})][('c', 1), "
     "('b', 2), ('A', 3)]"},
    {"{{ [1, 2, 1, 'a', 'A'] | unique | list }}{{ l | reverse | list }}{{ s | "
     "reverse }}{{ s | list }}",
     "[1, 2, 'a'][2, 1, 3]dlroW olleH['H', 'e', 'l', 'l', 'o', ' ', 'W', 'o', "
     "'r', 'l', 'd']"},
    {"{{ l | sum }}{{ objs | sum(attribute='v') }}{{ l | sum(start=10) }}{{ l "
     "| min }}{{ l | max }}{{ e | max }}{{ words | min }}",
     "661613A"},
    {"{{ [1, 2, 3] | batch(2) | list }}{{ [1, 2, 3] | batch(2, 0) | list }}",
     "[[1, 2], [3]][[1, 2], [3, 0]]"},
    {"{% for k, g in objs | groupby('v') %}{{ k }}:{{ g | length }};{% endfor "
     "%}",
     "1:1;2:1;3:1;"},
    {"{% for k, v in d | items %}{{ k }}{{ v }}{% endfor %}", "b1a{'c': 'x'}"},
  });
}

BOOST_AUTO_TEST_CASE(picking_filters_look_at_each_element) {
  check_all({
    {"{{ [1, 2] | map('string') | list }}{{ objs | map(attribute='n') | list "
     "}}{{ words | map('upper') | join(',') }}{{ words | map('replace', 'a', "
     "'z') | list }}{{ objs[:2] | map(attribute='w.k') | list }}{{ objs | "
     "map(attribute='q', default=0) | list }}",
     "['1', '2']['x', 'y', 'X']B,A,C,A['b', 'A', 'c', 'z'][1, 2][0, 0, 0]"},
    {"{{ [0, 1, none, ''] | select | list }}{{ l | select('odd') | list }}{{ l "
     "| reject('gt', 1) | list }}{{ l | select('in', [1, 2]) | list }}",
     "[1][3, 1][1][1, 2]"},
    {"{{ objs | selectattr('v', 'gt', 1) | map(attribute='n') | list }}{{ objs "
     "| selectattr('w') | list | length }}{{ objs | rejectattr('w', 'defined') "
     "| list }}",
     "['x', 'X']2[{'n': 'X', 'v': 2}]"},
    {"{% if l | select('gt', 100) %}always true{% endif %}", "always true"},
  });
}

BOOST_AUTO_TEST_CASE(scalar_filters_convert) {
  check_all({
    {"{{ missing | default('d') }}{{ z | default('d') }}{{ z | default('d', "
     "true) }}{{ none | d('q') }}{{ missing | default }}",
     "ddNone"},
    {"{{ '42' | int }}{{ 'x' | int }}{{ 'x' | int(7) }}{{ '42.9' | int }}{{ "
     "3.9 | int }}{{ 'ff' | int(0, 16) }}{{ -3.9 | int }}{{ none | int }}{{ "
     "true | int }}{{ ' 5 ' | int }}",
     "4207423255-3015"},
    {"{{ '4.5' | float }}{{ 'x' | float }}{{ 3 | float }}{{ '1e3' | float }}",
     "4.50.03.01000.0"},
    {"{{ (-5) | abs }}{{ -2.5 | abs }}", "52.5"},
    {"{{ 2.567 | round(2) }}{{ 2.5 | round }}{{ 3.5 | round }}{{ 2.1 | "
     "round(0, 'ceil') }}{{ 2.9 | round(0, 'floor') }}{{ 5 | round }}{{ 2.675 "
     "| round(2) }}",
     "2.572.04.03.02.052.67"},
  });
}

BOOST_AUTO_TEST_CASE(tojson_writes_what_transformers_writes) {
  check_all({
    {"{{ d | tojson }}{{ [1, 2.5, true, none, 'x\"y\\n\\u0001é'] | tojson }}",
     "{\"b\": 1, \"a\": {\"c\": \"x\"}}[1, 2.5, true, null, "
     "\"x\\\"y\\n\\u0001é\"]"},
    {"{{ d | tojson(indent=2) }}{{ [] | tojson(indent=2) }}{{ {} | "
     "tojson(indent=2) }}",
     "{\n  \"b\": 1,\n  \"a\": {\n    \"c\": \"x\"\n  }\n}[]{}"},
    {"{{ d | tojson(sort_keys=true, separators=(',', ':')) }}",
     "{\"a\":{\"c\":\"x\"},\"b\":1}"},
    {"{{ (u ~ '\\U0001F600') | tojson(ensure_ascii=true) }}{{ '<>&' | tojson "
     "}}",
     "\"\\u00e4\\u00f6\\u00fc \\u00df\\ud83d\\ude00\"\"<>&\""},
    {"{{ {1: 2, none: 3, true: 4, 1.5: 6} | tojson }}{{ (1, 2) | tojson }}",
     "{\"1\": 4, \"null\": 3, \"1.5\": 6}[1, 2]"},
  });
}

BOOST_AUTO_TEST_CASE(tests_tell_kinds_apart) {
  check_all({
    {"{{ n is defined }}{{ q is undefined }}{{ nul is none }}{{ s is string "
     "}}{{ n is number }}{{ f is number }}{{ n is integer }}{{ f is float }}{{ "
     "t is boolean }}{{ d is mapping }}{{ l is iterable }}{{ s is iterable "
     "}}{{ l is sequence }}{{ d is sequence }}{{ n is iterable }}{{ t is "
     "integer }}{{ t is number }}",
     "TrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueFalseFalseTrue"},
    {"{{ t is true }}{{ t is false }}{{ 1 is true }}{{ n is eq 5 }}{{ n is "
     "equalto(5) }}{{ n is ne 5 }}{{ n is gt 3 }}{{ n is ge 5 }}{{ n is lt 3 "
     "}}{{ n is le 5 }}",
     "TrueFalseFalseTrueTrueFalseTrueTrueFalseTrue"},
    {"{{ 3 is in l }}{{ 3 is not in l }}{{ n is odd }}{{ n is even }}{{ n is "
     "divisibleby 5 }}{{ n is divisibleby(2) }}{{ none is sameas none }}{{ l "
     "is sameas l }}",
     "TrueFalseTrueFalseTrueFalseTrueTrue"},
    {"{{ 'abc' is lower }}{{ 'ABC' is upper }}{{ 'aB' is lower }}{{ range is "
     "callable }}{{ 'upper' is filter }}{{ 'odd' is test }}{{ 'zz' is filter "
     "}}",
     "TrueTrueFalseTrueTrueTrueFalse"},
  });
}

BOOST_AUTO_TEST_CASE(functions_are_jinjas_and_transformers) {
  check_all({
    {"{{ range(3) | list }}{{ range(1, 4) | list }}{{ range(5, 0, -2) | list "
     "}}{{ range(0) | list }}",
     "[0, 1, 2][1, 2, 3][5, 3, 1][]"},
    {"{{ dict(a=1, b=2) }}{{ dict({'x': 1}, y=2) }}",
     "{'a': 1, 'b': 2}{'x': 1, 'y': 2}"},
    {"{{ strftime_now('%d %b %Y') }}|{{ strftime_now('%Y-%m-%d %H:%M') }}|{{ "
     "strftime_now('%B %-d, %A') }}",
     "04 Jul 2024|2024-07-04 13:05|July 4, Thursday"},
    {"{% set j = joiner(', ') %}{{ j() }}a{{ j() }}b{{ j() }}c", "a, b, c"},
  });
}

BOOST_AUTO_TEST_SUITE_END()
