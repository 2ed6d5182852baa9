// Turns the head's counts into metrics: counters grow by what was added since
// the last look, gauges are set.
#pragma once

#include "actors/cluster_statistics.hpp"
#include "actors/membership/cluster_snapshot.hpp"
#include "actors/supervision/worker_processes.hpp"
#include "runtime/trace/metrics.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe {

/// Not thread-safe: looked at from one thread.
class cluster_metrics {
public:
  /// `counts` must outlive it.
  explicit cluster_metrics(metrics& counts);

  void update(const statistics& now, const cluster_snapshot& nodes,
              const std::vector<worker_status>& workers);

private:
  void show_process(const std::string& name, const process_figures& x);

  metrics& counts_;
  statistics seen_;
  std::map<std::string, uint64_t> restarts_; ///< Seen, by worker.
};

} // namespace troupe
