// SIGINT and SIGTERM, received by a thread that does nothing else. The first
// one asks the command to end; if that takes too long, or a second one comes,
// the process ends at once. Its children end with it.
#pragma once

#include "runtime/clock.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe::cli {

class signal_watch {
public:
  /// Blocks both signals in this thread and those it starts. Call it first.
  static void block();

  /// Lets both signals end the process at once again: for commands that have
  /// nothing to bring to an end.
  static void unblock();

  /// @param limit From the first signal to the forced end.
  /// @param on_first Called from the watch's thread; may be empty.
  explicit signal_watch(duration limit = std::chrono::seconds(4),
                        std::function<void()> on_first = {});

  /// Stops watching.
  ~signal_watch();

  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  /// True after the first signal.
  bool asked_to_end() const {
    return asked_;
  }

  /// Waits until the first signal or `done()`; looks at `done` when notified
  /// and 20 times a second.
  void wait(const std::function<bool()>& done);

  /// Wakes `wait`.
  void notify();

private:
  void watch();

  const duration limit_;
  const std::function<void()> on_first_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

} // namespace troupe::cli
