// A template's text to tokens, with the settings that transformers uses:
// trim_blocks (the line end after a tag goes) and lstrip_blocks (so do the
// blanks of its line before it).
#pragma once

#include "runtime/error.hpp"
#include "runtime/template/token.hpp"

#include <string_view>
#include <vector>

namespace troupe::jinja {

/// Fails with bad_format, naming line and column. The last token is `end`.
/// @pre `text` is valid UTF-8 with "\n" for line ends.
result<std::vector<token>> scan(std::string_view text);

/// Line ends of any system become "\n", and the last one goes.
std::string normalize_lines(std::string_view text);

} // namespace troupe::jinja
