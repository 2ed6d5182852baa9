// How often a supervisor may restart: OTP's intensity and period.
#pragma once

#include "runtime/clock.hpp"

#include <cstddef>
#include <deque>

namespace troupe {

/// At most `intensity` restarts within any `period`; one more means that
/// restarting does not help (Erlang/OTP, supervisor behaviour).
class restart_intensity {
public:
  struct options {
    size_t intensity = 5;
    duration period = std::chrono::seconds(10);
  };

  explicit restart_intensity(options x);

  /// Notes a failure at `now`. Returns whether a restart is still allowed.
  bool allow(time_point now);

  /// Failures within the period that ends at the last `allow`.
  size_t recent() const {
    return failures_.size();
  }

private:
  options options_;
  std::deque<time_point> failures_; ///< At most `intensity` + 1 entries.
};

} // namespace troupe
