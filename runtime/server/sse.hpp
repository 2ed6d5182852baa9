// Server-sent events and the chunks of HTTP/1.1 that carry them.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Returns "data: <document>\n\n". A document of several lines becomes one
/// event of several "data:" lines.
std::string sse_event(std::string_view document);

/// Returns the event that ends a stream: "data: [DONE]\n\n".
std::string sse_end();

/// Returns `payload` as one chunk; nothing for an empty payload, since an empty
/// chunk would end the body.
std::string http_chunk(std::string_view payload);

/// Returns the chunk that ends a body.
std::string http_last_chunk();

} // namespace troupe
