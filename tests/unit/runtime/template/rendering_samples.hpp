// What the tests of templates share: a table of templates with what they give.
#pragma once

#include "runtime/template/prompt_template.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::test {

struct rendered_case {
  const char* text;     ///< A template.
  const char* expected; ///< What Jinja 3.1 with transformers' settings gives.
};

/// Variables of the tables: a JSON object, whose strings are content.
jinja::dictionary variables_of(std::string_view json_text);

/// n = 5, f = 2.5, t = true, z = "", s = "Hello World", u = "äöü ß",
/// l = [3, 1, 2], e = [], d = {"b": 1, "a": {"c": "x"}}, nul = null,
/// objs: three objects with n, v and w.k.
const jinja::dictionary& sample_variables();

/// Thursday, the 4th of July 2024, 13:05.
std::tm sample_time();

/// The text, or "error: MESSAGE".
std::string render(std::string_view text,
                   const jinja::dictionary& variables = sample_variables());

/// Checks each row.
void check_all(const std::vector<rendered_case>& rows);

/// "S" for each character of the template's, "C" for each of the caller's.
std::string marks_of(const jinja::marked_text& x);

} // namespace troupe::test
