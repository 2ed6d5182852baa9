// Where finished spans go: a bounded ring that keeps the newest and counts what
// it had to overwrite. Any thread may record; recording takes one short lock.
#pragma once

#include "runtime/trace/span.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace troupe {

/// Spans taken out of a sink, oldest first by time of recording.
struct recorded_spans {
  std::vector<span> spans;
  uint64_t dropped = 0; ///< Older spans that were overwritten.
};

/// A bounded, thread-safe store of spans.
class span_sink {
public:
  /// About 250 bytes a span.
  static constexpr size_t default_capacity = size_t{1} << 19;

  /// @pre capacity > 0
  explicit span_sink(size_t capacity = default_capacity);

  /// Stores `x`; overwrites the oldest span when full.
  void record(span x);

  /// Returns a number no other span of this sink has; never 0.
  uint64_t next_id();

  /// Copies what is stored.
  recorded_spans snapshot() const;

  /// Moves out what is stored and starts again with an empty ring.
  recorded_spans take();

private:
  static std::vector<span> in_order(std::vector<span> ring, size_t oldest);

  const size_t capacity_;
  std::atomic<uint64_t> last_id_{0};
  mutable std::mutex mutex_;
  std::vector<span> ring_;
  size_t oldest_ = 0; ///< Index of the oldest span once the ring is full.
  uint64_t dropped_ = 0;
};

} // namespace troupe
