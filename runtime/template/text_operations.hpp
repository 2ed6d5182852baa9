// What Python's string methods do, on marked text.
#pragma once

#include "runtime/template/text_builder.hpp"

#include <optional>
#include <string_view>

namespace troupe::jinja {

enum class text_end : uint8_t { both, left, right };

/// Without the characters of `chars` (white space if there are none given) at
/// its ends.
marked_text strip(const marked_text& x, std::optional<std::string_view> chars,
                  text_end where);

/// Each character through `change`; only "ß" becomes more than one.
marked_text upper(const marked_text& x, budget& spent);
marked_text lower(const marked_text& x, budget& spent);

/// The first character as `upper`, the rest as `lower`.
marked_text capitalize(const marked_text& x, budget& spent);

/// Words begin after what `is_gap` says.
marked_text title(const marked_text& x, bool (*is_gap)(char32_t),
                  budget& spent);

/// At most `count` times, from the left.
marked_text replace(const marked_text& x, const marked_text& from,
                    const marked_text& to, size_t count, budget& spent);

/// Pieces between `separator`, cut at most `count` times from the left.
/// @pre `separator` is not empty.
std::vector<value> split(const marked_text& x, std::string_view separator,
                         size_t count, budget& spent);

/// The same from the right.
std::vector<value> split_right(const marked_text& x, std::string_view separator,
                               size_t count, budget& spent);

/// Words between white space.
std::vector<value> split_words(const marked_text& x, size_t count,
                               budget& spent);
std::vector<value> split_words_right(const marked_text& x, size_t count,
                                     budget& spent);

enum class line_ends : uint8_t { drop, keep };

std::vector<value> split_lines(const marked_text& x, line_ends ends,
                               budget& spent);

} // namespace troupe::jinja
