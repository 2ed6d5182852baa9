// What each running sequence has cost, for the answer to its request. Owned by
// the process, thread-safe; an entry lives from `open` to `take`.
#pragma once

#include "actors/local_messages.hpp"

#include <map>
#include <mutex>

namespace troupe {

struct sequence_total {
  uint64_t local_pairs = 0;
  uint64_t remote_pairs = 0;
  uint64_t rerouted_pairs = 0;
  uint64_t failures = 0;  ///< Of batches that held its rows.
  duration remote_wait{}; ///< Of passes that held its rows.
  duration prefill_time{};
  duration decode_time{};
};

class sequence_totals {
public:
  /// Begins to count for `id`.
  void open(sequence_id id) {
    std::lock_guard guard{mutex_};
    totals_.try_emplace(id);
  }

  /// Edits the counts of `id`, unless they were taken.
  template <class Change>
  void update(sequence_id id, Change&& change) {
    std::lock_guard guard{mutex_};
    if (auto i = totals_.find(id); i != totals_.end())
      change(i->second);
  }

  /// Returns and forgets the counts of `id`.
  sequence_total take(sequence_id id) {
    std::lock_guard guard{mutex_};
    auto node = totals_.extract(id);
    return node.empty() ? sequence_total{} : node.mapped();
  }

private:
  std::mutex mutex_;
  std::map<sequence_id, sequence_total> totals_;
};

} // namespace troupe
