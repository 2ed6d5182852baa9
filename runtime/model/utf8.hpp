// UTF-8 byte by byte: where a character ends, what is ill-formed. Ill-formed
// pieces are cut as the Unicode Standard recommends (section 3.9, "U+FFFD
// substitution of maximal subparts"), so all users repair text alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

enum class utf8_kind : uint8_t {
  valid,      ///< A whole character.
  invalid,    ///< Bytes that begin no character, whatever follows.
  incomplete, ///< The text ends within a character.
};

/// The first piece of a text.
struct utf8_piece {
  utf8_kind kind = utf8_kind::invalid;
  uint8_t length = 1; ///< In bytes, 1 to 4.
  char32_t point = 0; ///< The character if `valid`.
};

/// Looks at the start of `text`. @pre `text` is not empty.
utf8_piece first_utf8_piece(std::string_view text);

/// Returns the last character of `text`; `invalid` if it ends with none.
utf8_piece last_utf8_piece(std::string_view text);

/// Returns the length in bytes of the longest valid start of `text`.
size_t valid_utf8_length(std::string_view text);

/// Appends `point` to `out`. @pre `point` is a Unicode scalar value.
void append_utf8(std::string& out, char32_t point);

/// Appends `text` to `out`, each ill-formed piece as U+FFFD.
void append_repaired(std::string& out, std::string_view text);

} // namespace troupe
