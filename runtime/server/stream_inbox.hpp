// The way from the service's threads into the server's loop: a bounded queue of
// the events of one completion. The first event in an empty queue wakes the
// loop, which then takes all of them.
#pragma once

#include "runtime/server/completion_service.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <variant>
#include <vector>

namespace troupe {

/// What a sink was told.
using completion_event = std::variant<completion_piece, completion_end, error>;

/// The sink the server hands to the service. Thread-safe.
class stream_inbox final : public completion_sink {
public:
  /// What one `take` found.
  struct contents {
    std::vector<completion_event> events;
    bool overflowed = false; ///< The loop was too slow; events are missing.
  };

  /// `wake` is called from the service's threads, with the inbox locked: it
  /// must not call back.
  stream_inbox(size_t bytes_max, std::function<void()> wake);

  void piece(completion_piece x) override;
  void done(completion_end x) override;
  void failed(error x) override;

  /// Takes the events that came since the last call, in order.
  contents take();

  /// Drops what is queued and all that comes. After it returns, `wake` is not
  /// running and will not be called.
  void close();

private:
  void push(completion_event x, size_t bytes);

  const size_t bytes_max_;
  std::mutex mutex_;
  std::function<void()> wake_; ///< Empty once closed.
  contents queued_;
  size_t bytes_ = 0;
};

} // namespace troupe
