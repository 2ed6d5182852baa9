// What a supervisor does when a child has ended: the table of OTP's
// supervisor, one_for_one, with exponential backoff. Pure: time is passed in.
//
//   ended how \ restart   permanent   transient   temporary
//   normally              restart     forget      forget
//   with an error         restart     restart     forget
//   (too many restarts within the period: escalate)
#pragma once

#include "actors/supervision/restart_intensity.hpp"

namespace troupe {

/// When a child is started again after it has ended.
enum class restart_type { permanent, transient, temporary };

/// How a child ended.
enum class child_end { normal, failure };

/// Delay before the n-th restart in a row: min * 2^(n-1), at most max, scaled
/// by 1 +- jitter so that those who failed together do not come back together.
struct restart_backoff {
  duration min = std::chrono::milliseconds(10);
  duration max = std::chrono::seconds(2);

  double jitter = 0; ///< In [0, 1].

  /// @param streak restarts since the child last stayed up, from 1.
  /// @param draw in [0, 1): chooses within the jitter.
  duration delay(size_t streak, double draw = 0.5) const;
};

/// What to do now.
struct restart_decision {
  enum class action { restart, forget, escalate };

  action what = action::forget;
  duration delay{}; ///< Wait this long before a restart.
};

/// The failures of one child and what followed from them.
class restart_policy {
public:
  struct options {
    restart_type type = restart_type::permanent;
    restart_intensity::options limit;
    restart_backoff backoff;
    uint64_t seed = 0; ///< Of the jitter's draws.
  };

  explicit restart_policy(options x);

  /// Decides about a child that ended at `now`. A child that has stayed up for
  /// a whole period starts again with the shortest delay.
  restart_decision ended(time_point now, child_end how);

private:
  options options_;
  restart_intensity intensity_;
  uint64_t draws_ = 0;
};

} // namespace troupe
