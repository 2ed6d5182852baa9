// The byte-level alphabet of GPT-2: in the vocabulary each byte is written as
// one printable character. The 188 bytes that are printable in Latin-1 stand
// for themselves, the other 68 are U+0100, U+0101, ... in ascending order
// (so a space is written U+0120).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// Returns the character that stands for `byte`, in UTF-8.
std::string_view byte_level_character(uint8_t byte);

/// Returns `bytes` written in the alphabet.
std::string to_byte_level(std::string_view bytes);

/// Returns the bytes of a vocabulary entry. An entry with a character outside
/// the alphabet (an added token with a space in it, say) stands for itself.
std::string from_byte_level(std::string_view written);

} // namespace troupe
