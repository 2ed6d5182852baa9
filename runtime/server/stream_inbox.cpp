#include "runtime/server/stream_inbox.hpp"

#include <utility>

namespace troupe {

namespace {

/// Bytes an event costs beside its text and ids.
constexpr size_t event_bytes = sizeof(completion_event);

} // namespace

stream_inbox::stream_inbox(size_t bytes_max, std::function<void()> wake)
  : bytes_max_(bytes_max), wake_(std::move(wake)) {
  // nop
}

void stream_inbox::piece(completion_piece x) {
  auto bytes = x.text.size() + x.ids.size() * sizeof(token_id);
  push(std::move(x), bytes);
}

void stream_inbox::done(completion_end x) {
  push(std::move(x), 0);
}

void stream_inbox::failed(error x) {
  auto bytes = x.message.size();
  push(std::move(x), bytes);
}

stream_inbox::contents stream_inbox::take() {
  std::lock_guard guard{mutex_};
  bytes_ = 0;
  return std::exchange(queued_, {});
}

void stream_inbox::close() {
  std::lock_guard guard{mutex_};
  wake_ = nullptr;
  queued_ = {};
}

void stream_inbox::push(completion_event x, size_t bytes) {
  std::lock_guard guard{mutex_};
  if (!wake_ || queued_.overflowed)
    return;
  bool was_empty = queued_.events.empty();
  bytes_ += bytes + event_bytes;
  if (bytes_ > bytes_max_)
    queued_.overflowed = true;
  else
    queued_.events.push_back(std::move(x));
  if (was_empty)
    wake_();
}

} // namespace troupe
