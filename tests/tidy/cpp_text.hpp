// A light view of C++ text: enough to tell code from comments and strings, and
// to find where functions begin and end. Not a parser: it follows braces, and
// relies on the formatter for the rest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::tidy {

/// What `blank` leaves in place.
enum class keep { code_and_strings, code };

/// Returns `text` with comments (and, for `keep::code`, the contents of strings
/// and the preprocessor's lines) replaced by spaces. Offsets and lines stay.
std::string blank(std::string_view text, keep what);

/// A function's definition: from the first line of its head to its last brace.
struct function_extent {
  std::string name;
  std::size_t first_line = 0;
  std::size_t last_line = 0;

  std::size_t lines() const {
    return last_line - first_line + 1;
  }
};

/// Returns the functions of a file. Lambdas belong to the function around them.
std::vector<function_extent> find_functions(std::string_view text);

/// One `#include` line.
struct include_line {
  std::string path;
  std::size_t line = 0;
  bool is_quoted = false; ///< "path" (ours), not <path>
};

std::vector<include_line> find_includes(std::string_view text);

} // namespace troupe::tidy
