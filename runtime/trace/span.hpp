// One stretch of time of one actor: who, what, for which request, from when to
// when. Times are those of the head's steady clock (remote_span.hpp places the
// spans of other machines on it).
#pragma once

#include "runtime/clock.hpp"
#include "runtime/ids.hpp"
#include "runtime/trace/trace_context.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// How a span is drawn.
enum class span_kind : uint8_t {
  work, ///< The actor was busy; spans of one actor nest or follow each other.
  wait, ///< Something was under way or queued; may overlap with any other.
};

/// One number that belongs to a span ("rows" = 12). `key` has static lifetime;
/// a null key ends the list.
struct span_arg {
  const char* key = nullptr;
  int64_t value = 0;
};

/// A finished span.
struct span {
  std::string name; ///< What was done: "prefill", "dispatch", "compute".
  const char* category = "engine"; ///< Static: "engine", "message", "http", ...
  span_kind kind = span_kind::work;
  std::string node = "head"; ///< Process of the timeline.
  std::string actor;         ///< Line of the timeline: "dispatcher[3]".
  trace_context context;     ///< This span's request and own id.
  uint64_t parent = 0;       ///< Span that caused it; 0: none.
  time_point start;
  time_point end; ///< Not before `start`.
  std::optional<sequence_id> request;
  std::optional<pass_id> pass;
  std::optional<layer_index> layer;
  std::optional<batch_id> batch;
  std::array<span_arg, 4> args{};
};

} // namespace troupe
