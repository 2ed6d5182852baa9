// Tokens of a template, and where they stand.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::jinja {

/// A place in a template's text, counted from 1; columns are characters.
struct place {
  uint32_t line = 1;
  uint32_t column = 1;
};

enum class token_kind : uint8_t {
  data,         ///< Text between tags, its whitespace already controlled.
  output_begin, ///< {{
  output_end,
  block_begin, ///< {%
  block_end,
  name,
  string,
  integer,
  floating,
  symbol, ///< An operator or a bracket.
  end,
};

struct token {
  token_kind kind = token_kind::end;
  place at;
  std::string text; ///< As written; of a string, what it stands for.
  int64_t integer = 0;
  double floating = 0;
};

} // namespace troupe::jinja
