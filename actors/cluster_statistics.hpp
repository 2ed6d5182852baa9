// What the cluster has done so far, as printed by `generate` and shown by the
// HTTP endpoints. Thread-safe; counts since the start of the head.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <map>
#include <mutex>

namespace troupe {

/// What a process says of itself.
struct process_figures {
  uint64_t bytes_read = 0;     ///< Of the checkpoint, since its start.
  uint64_t resident_bytes = 0; ///< When it had loaded last;
  uint64_t huge_bytes = 0;     ///< of these in huge pages.
};

/// Counts of one node, over all its incarnations.
struct node_statistics {
  uint64_t pairs = 0;    ///< Answered.
  uint64_t batches = 0;  ///< Answered.
  uint64_t failures = 0; ///< Batches late, lost or refused.
  duration round_trip{}; ///< Sum over answered batches: sent to last reply.
  duration queue_wait{}; ///< Sum, as the node measured it.
  duration compute{};    ///< Sum, as the node measured it.
  process_figures process;
};

struct statistics {
  uint64_t prefill_tokens = 0;
  uint64_t decode_tokens = 0;
  duration prefill_time{}; ///< Of passes that held prompt rows.
  duration decode_time{};  ///< Of all other passes.
  uint64_t passes = 0;
  uint64_t local_pairs = 0;
  uint64_t remote_pairs = 0;
  uint64_t rerouted_pairs = 0;
  uint64_t failures = 0; ///< Batches late, lost or refused.
  duration remote_wait{};
  uint64_t row_bytes_sent = 0;        ///< Rows to nodes.
  uint64_t output_bytes_received = 0; ///< Outputs from nodes.
  process_figures process;            ///< The head itself.
  std::map<node_id, node_statistics> nodes;
};

class cluster_statistics {
public:
  /// Edits the counts under the lock: `change(statistics&)`.
  template <class Change>
  void update(Change&& change) {
    std::lock_guard guard{mutex_};
    change(current_);
  }

  statistics read() const {
    std::lock_guard guard{mutex_};
    return current_;
  }

private:
  mutable std::mutex mutex_;
  statistics current_;
};

} // namespace troupe
