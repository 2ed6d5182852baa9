// Runs the built `troupe` program for tests: starts it, reads what it has
// printed so far, sends signals, waits within a bound, and finds every process
// that it has started, also after its own end. Output goes to files in memory,
// so that a program never waits for its test. The destructor kills whatever is
// left. The packed weights of all programs that a test program starts are in
// one cache of its own. Linux only.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace troupe::testing {

using wait_limit = std::chrono::milliseconds;

/// Returns `x`, or five times `x` in a build with sanitizers.
wait_limit patient(wait_limit x);

/// How a process has ended.
struct process_end {
  std::optional<int> code;   ///< Exit code.
  std::optional<int> signal; ///< Signal that ended it, instead of a code.

  bool operator==(const process_end&) const = default;
};

/// "exit 0", "signal 9".
std::string to_string(const process_end& x);

/// One running (or ended) `troupe`. Not for use by several threads.
class troupe_process {
public:
  /// Starts `troupe ARGUMENTS...` in the current folder, its standard input
  /// being /dev/null. Throws std::runtime_error if that fails. `output`: a
  /// descriptor to which standard output goes instead of to memory.
  explicit troupe_process(std::vector<std::string> arguments, int output = -1);

  /// Kills the process and all that it started.
  ~troupe_process();

  troupe_process(const troupe_process&) = delete;
  troupe_process& operator=(const troupe_process&) = delete;

  pid_t pid() const {
    return pid_;
  }

  /// The command, quoted for a shell: what a failed test tells people to run.
  const std::string& command_line() const {
    return command_line_;
  }

  /// Sends a signal to the process alone; nothing if it has ended.
  void signal(int number);

  /// Waits for the end. Returns nothing if it has not come within the limit.
  std::optional<process_end> wait(wait_limit limit);

  /// Waits until the condition holds; checks it every few milliseconds.
  /// Returns false at the limit, or when the process has ended without it.
  bool wait_until(const std::function<bool()>& condition, wait_limit limit);

  /// Waits until that many "token" lines (all prompts together) were printed.
  bool wait_for_tokens(size_t count, wait_limit limit);

  /// Waits until standard error has the text.
  bool wait_for_error_text(std::string_view text, wait_limit limit);

  /// Everything printed so far.
  std::string out() const;
  std::string err() const;

  /// The complete lines of standard output, each parsed as JSON. Throws
  /// std::runtime_error naming the first line that is not JSON.
  std::vector<nlohmann::json> events() const;

  /// The running processes that this one has started, at any depth and also
  /// after its own end, in the order of their ids. Without zombies.
  std::vector<pid_t> descendants() const;

  /// The running descendant that was started with `--name NAME`; 0: none.
  pid_t worker(std::string_view name) const;

  /// Waits until no descendant is left. Returns those that are at the limit.
  std::vector<pid_t> wait_for_no_descendants(wait_limit limit) const;

private:
  std::string command_line_;
  std::string mark_; ///< NAME=VALUE in the environment of all descendants.
  int out_ = -1;
  int err_ = -1;
  int handle_ = -1; ///< A pidfd: readable once the process has ended.
  pid_t pid_ = -1;
  std::optional<process_end> end_;
};

/// What one finished run has left.
struct troupe_run {
  std::string command_line;
  std::optional<process_end> end; ///< Nothing: not ended in time, killed.
  std::string out;
  std::string err;
  std::vector<nlohmann::json> events;
  std::vector<pid_t> left_behind; ///< Still running 5 s after the end.

  bool exited_with(int code) const {
    return end && end->code == code;
  }
};

/// Runs `troupe ARGUMENTS...` to its end.
troupe_run run_troupe(std::vector<std::string> arguments,
                      wait_limit limit = std::chrono::seconds(60));

/// The command, the end and the output, for the message of a failed check.
std::string describe(const troupe_run& x);

} // namespace troupe::testing
