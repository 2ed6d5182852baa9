// Characters of valid UTF-8 text, with the properties that Python's string
// methods ask for (utf8proc).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::jinja {

/// Returns whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// Length in bytes of the character that begins with `lead`, 1 to 4.
size_t character_bytes(char lead);

/// The character at byte `at`. @pre one begins there.
char32_t character_at(std::string_view text, size_t at);

void append_character(std::string& out, char32_t x);

/// How many characters `text` has.
size_t count_characters(std::string_view text);

/// Byte offset of character `index`, at most the size of `text`.
size_t offset_of_character(std::string_view text, size_t index);

/// Python's `str.isspace` for one character.
bool is_space(char32_t x);

bool is_upper(char32_t x);
bool is_lower(char32_t x);

/// False for what Python's `repr` writes as an escape.
bool is_printable(char32_t x);

char32_t to_upper(char32_t x);
char32_t to_lower(char32_t x);

/// First offset of `what` in `text` from `at` on, in linear time; npos if
/// there is none.
size_t find_text(std::string_view text, std::string_view what, size_t at = 0);

} // namespace troupe::jinja
