// Text whose parts are trusted differently: a chat template's own words hold
// control tokens, what a person wrote holds none, whatever it spells.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What the text of a special token means when it stands in the input:
/// the token itself, or just those characters (for text that is not trusted).
enum class special_text : uint8_t { parse, as_text };

/// One part of a text.
struct text_piece {
  std::string_view text;
  special_text inside = special_text::as_text;
};

/// A stretch of a text from the end of the one before it to `end`, in bytes.
struct text_stretch {
  size_t end = 0;
  special_text inside = special_text::parse;
};

/// Pieces put together: one text, and where which trust ends.
struct joined_text {
  std::string text;
  std::vector<text_stretch> stretches; ///< Never empty, neighbours differ.

  static joined_text from(std::span<const text_piece> pieces);
};

} // namespace troupe
