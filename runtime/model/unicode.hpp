// The few properties of characters that tokenizers ask for, and the four
// normalization forms (utf8proc).
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// True for Unicode's White_Space.
bool is_white_space(char32_t point);

/// True for what regular expressions call a word character (Unicode TR18).
bool is_word_character(char32_t point);

/// True for Unicode's general categories Mn, Mc and Me.
bool is_mark(char32_t point);

/// Appends the lower case of one character (which may be two).
void append_lowercase(char32_t point, std::string& out);

/// Length in bytes of the white space at the start of `text`, and at its end.
size_t white_space_at_begin(std::string_view text);
size_t white_space_at_end(std::string_view text);

enum class normal_form : uint8_t { nfc, nfd, nfkc, nfkd };

/// Returns `text` in `form`. Fails on an absurdly long run of combining marks
/// (sorting them takes quadratic time). @pre `text` is valid UTF-8.
result<std::string> normalize(std::string_view text, normal_form form);

/// True if `text` surely equals its normal form (a quick test, may say no).
bool is_surely_normal(std::string_view text);

} // namespace troupe
