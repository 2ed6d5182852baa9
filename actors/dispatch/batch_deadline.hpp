// How long a dispatcher waits for a node before it reroutes a batch. Learned
// from the node's own replies, so that a slow machine is not a dead one.
#pragma once

#include "runtime/clock.hpp"

#include <array>
#include <cstddef>

namespace troupe {

/// The adaptive deadline of one node's batches. A batch's latency is modelled
/// as fixed + pairs * per_pair; both are kept as high percentiles of what was
/// seen. The deadline is `factor` times the model, within [floor, ceiling];
/// until `samples_min` replies were seen it is the ceiling.
class batch_deadline {
public:
  struct options {
    duration floor = std::chrono::milliseconds(250);
    duration ceiling = std::chrono::seconds(10);
    double factor = 4.0;
    size_t samples_min = 8;
  };

  explicit batch_deadline(options x);

  /// Learns from a batch of `pairs` pairs that was answered after `latency`.
  void observe(size_t pairs, duration latency);

  /// Returns how long to wait for a batch of `pairs` pairs when
  /// `queued_pairs` pairs sent to the node earlier are still unanswered.
  duration wait_for(size_t pairs, size_t queued_pairs) const;

private:
  /// Latencies per pair are only meaningful for batches of some size.
  static constexpr size_t small_batch_pairs = 16;
  static constexpr size_t window = 64;

  /// The last `window` values, for a percentile.
  struct recent {
    std::array<double, window> values{};
    size_t seen = 0;
    void add(double x);
    double high() const; ///< About the 95th percentile; 0 if empty.
  };

  options options_;
  recent fixed_ns_;    ///< Latency of small batches.
  recent per_pair_ns_; ///< Latency / pairs of the other ones.
};

} // namespace troupe
