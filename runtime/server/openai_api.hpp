// Parses, validates and writes the documents of the completions API. No socket,
// no clock, no chance: those come in as parameters.
//
// As with OpenAI, unknown fields are ignored. Fields that would change the text
// and that we do not implement are errors, and so is every wrong type or range:
// the message names the field, what was expected and what was found.
#pragma once

#include "runtime/server/openai_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace troupe {

/// Most stop strings of a request, and the most bytes of each.
inline constexpr size_t stop_strings_max = 16;
inline constexpr size_t stop_string_bytes_max = 1024;

/// Reads the body of POST /v1/completions. `seed` is used if none is given.
tl::expected<completion_call, api_error>
parse_completion(std::string_view body, const completion_limits& limits,
                 uint64_t seed);

/// Returns {"error":{"message","type","code","param"}}.
std::string error_document(const api_error& x);

/// Returns the document of a non-streaming answer.
std::string completion_document(const completion_header& header,
                                const completion_piece& all,
                                const completion_end& end);

/// Returns the document of one streamed piece.
std::string piece_document(const completion_header& header,
                           const completion_piece& x);

/// Returns the document that carries the finish reason and the statistics.
std::string end_document(const completion_header& header,
                         const completion_end& x);

/// Returns the document with token counts and no choice.
std::string usage_document(const completion_header& header,
                           const completion_end& x);

/// Returns the document of GET /v1/models.
std::string models_document(const completion_limits& limits,
                            int64_t created_seconds);

} // namespace troupe
