// The local node processes of a head (`--workers N`): started from this
// program's own file, watched, restarted with backoff, and never left behind: a
// child ends when its standard input closes or its parent dies.
#pragma once

#include "actors/supervision/restart_decision.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace troupe {

/// How one child is started.
struct worker_spec {
  std::string name;
  std::vector<std::string> arguments; ///< After the program's name.
};

/// What `troupe status` shows of one child.
struct worker_status {
  std::string name;
  pid_t pid = -1; ///< -1: not running.
  uint64_t restarts = 0;
  std::string last_end;  ///< "signal 9", "exit 1"; empty: never ended.
  bool given_up = false; ///< Failed too often: it is not started again.
};

/// Owns the children. Thread-safe. A thread of its own waits for them.
class worker_processes {
public:
  struct options {
    restart_policy::options restart;
    /// From closing a child's input to SIGKILL.
    duration shutdown = std::chrono::milliseconds(1500);
  };

  worker_processes(options x, std::vector<worker_spec> specs);

  /// Ends all children.
  ~worker_processes();

  worker_processes(const worker_processes&) = delete;
  worker_processes& operator=(const worker_processes&) = delete;

  /// Starts all children. Fails with io when one cannot be started.
  result<void> start();

  /// Sends `signal` to the child `name`, or to all ("*"). Returns how many got
  /// it. A killed child counts as failed and is restarted.
  size_t signal(const std::string& name, int number);

  std::vector<worker_status> status() const;

  /// Closes the inputs, waits, kills what is left. Idempotent.
  void stop();

private:
  struct child {
    worker_spec spec;
    restart_policy policy;
    worker_status status;
    int input = -1; ///< Write end of its standard input.
    time_point restart_at;
    bool waiting = false; ///< For `restart_at`.
  };

  result<void> spawn(child& x);
  void watch();
  void reap(time_point now);
  void restart_due(time_point now);
  bool any_running() const;
  bool end_children(time_point deadline, bool& killed);
  void end_of(child& x, int wait_status, time_point now);

  const options options_;
  mutable std::mutex mutex_;
  std::vector<child> children_;
  bool stopping_ = false;
  std::thread watcher_;
};

} // namespace troupe
