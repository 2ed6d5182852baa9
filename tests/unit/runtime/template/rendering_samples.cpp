// See rendering_samples.hpp.
#include "tests/unit/runtime/template/rendering_samples.hpp"

#include "runtime/template/value_json.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::test {

jinja::dictionary variables_of(std::string_view json_text) {
  auto x = jinja::parse_json_value(json_text, "variables");
  BOOST_REQUIRE_MESSAGE(x.has_value(), x.error().message);
  BOOST_REQUIRE(x->is<jinja::dictionary_ptr>());
  return *x->as<jinja::dictionary_ptr>();
}

const jinja::dictionary& sample_variables() {
  static const auto instance = variables_of(R"json({
    "n": 5, "f": 2.5, "t": true, "z": "", "s": "Hello World", "u": "äöü ß",
    "l": [3, 1, 2], "e": [], "d": {"b": 1, "a": {"c": "x"}}, "nul": null,
    "words": ["b", "A", "c", "a"],
    "objs": [{"n": "x", "v": 3, "w": {"k": 1}}, {"n": "y", "v": 1,
             "w": {"k": 2}}, {"n": "X", "v": 2}]})json");
  return instance;
}

std::tm sample_time() {
  std::tm x{};
  x.tm_year = 124;
  x.tm_mon = 6;
  x.tm_mday = 4;
  x.tm_hour = 13;
  x.tm_min = 5;
  x.tm_wday = 4;
  x.tm_yday = 185;
  return x;
}

std::string render(std::string_view text, const jinja::dictionary& variables) {
  auto parsed = jinja::prompt_template::parse(text);
  if (!parsed)
    return "error: " + parsed.error().message;
  jinja::render_options options;
  options.now = sample_time();
  auto out = parsed->render(variables, options);
  if (!out)
    return "error: " + out.error().message;
  return std::string{out->bytes()};
}

void check_all(const std::vector<rendered_case>& rows) {
  for (auto& row : rows)
    BOOST_TEST(render(row.text) == row.expected, row.text);
}

std::string marks_of(const jinja::marked_text& x) {
  std::string out;
  for (size_t i = 0; i < x.size(); ++i)
    if ((static_cast<unsigned char>(x.bytes()[i]) & 0xC0) != 0x80)
      out.push_back(x.from(i) == jinja::origin::content ? 'C' : 'S');
  return out;
}

} // namespace troupe::test
