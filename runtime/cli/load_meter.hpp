// Shows on stderr how far loading is, while it lives. A thread looks at the
// checkpoint's count of bytes read; loading itself knows nothing of it.
#pragma once

#include "runtime/cli/load_line.hpp"
#include "runtime/model/opened_model.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe::cli {

/// `lines`, or `terminal` where stderr is one; `none` when not `wanted`.
enum class load_wish { silent, shown };
load_display display_for(load_wish wish);

class load_meter {
public:
  /// Counts from here on. `bytes_total` as in `load_progress`.
  load_meter(model_ptr model, uint64_t bytes_total, load_display display);

  /// As `stop`.
  ~load_meter();
  load_meter(const load_meter&) = delete;
  load_meter& operator=(const load_meter&) = delete;

  /// Prints a line of its own, whatever stands on the terminal. Any thread.
  void note(const std::string& text);

  /// Shows nothing from now on, and cleans the line.
  void stop();

private:
  void run();

  model_ptr model_;
  uint64_t bytes_total_;
  uint64_t bytes_before_;
  load_line line_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_; ///< Last: it uses the others.
};

} // namespace troupe::cli
