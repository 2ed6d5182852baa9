// What travels with every message of a request, so that all spans of the
// request meet on one timeline.
#pragma once

#include <cstdint>

namespace troupe {

/// Identifies one request and, inside it, the span that caused a message.
/// A zero `trace` means: not traced, record nothing.
struct trace_context {
  uint64_t trace = 0;
  uint64_t span = 0;

  /// Whether spans of this request are recorded at all.
  constexpr bool traced() const {
    return trace != 0;
  }
  constexpr bool operator==(const trace_context&) const = default;
};

} // namespace troupe
