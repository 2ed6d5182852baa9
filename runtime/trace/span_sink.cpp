#include "runtime/trace/span_sink.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

span_sink::span_sink(size_t capacity) : capacity_(capacity) {
  TROUPE_ASSERT(capacity > 0);
}

void span_sink::record(span x) {
  std::lock_guard guard{mutex_};
  if (ring_.size() < capacity_) {
    ring_.push_back(std::move(x));
    return;
  }
  ring_[oldest_] = std::move(x);
  oldest_ = (oldest_ + 1) % capacity_;
  ++dropped_;
}

uint64_t span_sink::next_id() {
  return last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
}

recorded_spans span_sink::snapshot() const {
  std::unique_lock guard{mutex_};
  auto copy = ring_;
  auto oldest = oldest_;
  auto dropped = dropped_;
  guard.unlock();
  return {in_order(std::move(copy), oldest), dropped};
}

recorded_spans span_sink::take() {
  std::unique_lock guard{mutex_};
  auto ring = std::exchange(ring_, {});
  auto oldest = std::exchange(oldest_, 0);
  auto dropped = std::exchange(dropped_, 0);
  guard.unlock();
  return {in_order(std::move(ring), oldest), dropped};
}

std::vector<span> span_sink::in_order(std::vector<span> ring, size_t oldest) {
  auto first = ring.begin() + static_cast<std::ptrdiff_t>(oldest);
  std::rotate(ring.begin(), first, ring.end());
  return ring;
}

} // namespace troupe
