// What a command shows while it loads weights, as a function of time: on a
// terminal one line that is written over, elsewhere a line now and then, and
// nothing when it is soon over. Knows no clock and no thread; see load_meter.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/engine/load_progress.hpp"

#include <optional>
#include <string>

namespace troupe::cli {

enum class load_display { none, lines, terminal };

class load_line {
public:
  /// Loading that ends before this shows nothing.
  static constexpr duration quiet_time = std::chrono::milliseconds(500);
  static constexpr duration quiet_time_of_lines = std::chrono::seconds(2);
  static constexpr duration between_lines = std::chrono::seconds(5);

  explicit load_line(load_display display) : display_(display) {
    // nop
  }

  /// What to write to stderr `elapsed` after the start; nothing most times, and
  /// nothing before the first byte is read.
  std::optional<std::string> step(duration elapsed, const load_progress& x);

  /// What to write when loading has ended, to leave a clean line.
  std::string finish();

private:
  load_display display_;
  duration next_line_ = quiet_time_of_lines;
  size_t shown_ = 0; ///< Width of what stands on the terminal.
};

/// "loading weights: 1.2 GiB of 4.0 GiB, 30 %, 512 MiB/s".
std::string load_text(duration elapsed, const load_progress& x);

} // namespace troupe::cli
