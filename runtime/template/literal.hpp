// Numbers and strings as Python writes them in source text.
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::jinja {

struct number_literal {
  size_t length = 0; ///< In bytes.
  bool is_float = false;
  int64_t integer = 0;
  double floating = 0;
};

/// Reads the number that `text` begins with: 12, 1_000, 0x1f, 1.5, 1e3. After a
/// dot ("list.0.1") only a whole number can stand. Fails if it does not fit
/// into 64 bits. @pre `text` begins with a digit.
result<number_literal> read_number(std::string_view text, bool is_after_dot);

/// What the inside of a quoted string stands for. Fails on escapes that make
/// no character.
result<std::string> unescape(std::string_view text);

} // namespace troupe::jinja
