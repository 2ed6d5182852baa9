// Counts one completion: how it ended, its tokens, its latencies.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/server/completion_service.hpp"
#include "runtime/trace/metrics.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// Measures from construction to `finished` or `ended_early`, one of which is
/// called exactly once.
class completion_meter {
public:
  completion_meter(metrics& counts, time_point now);

  /// `tokens` new tokens arrived.
  void tokens(size_t count, time_point now);

  /// The completion ended well.
  void finished(const completion_end& x);

  /// It did not: "cancelled", "error" or "refused".
  void ended_early(std::string_view outcome);

private:
  void end(std::string_view outcome);

  metrics& counts_;
  time_point started_;
  std::optional<time_point> first_;
  time_point last_;
  uint64_t after_first_ = 0; ///< Tokens that came later than the first ones.
};

} // namespace troupe
