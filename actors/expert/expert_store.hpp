// Packed experts in memory: loaded on demand from the local checkpoint, bounded
// in bytes, least recently used out first. Shared by all layers of a process;
// thread-safe. Who holds an expert keeps it alive beyond its eviction, so the
// bound is exceeded by what is in use at most.
#pragma once

#include "kernels/lanes.hpp"
#include "kernels/moe_ffn.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace troupe {

using expert_ptr = std::shared_ptr<const kernels::expert_ffn>;

/// Which expert of which layer.
using expert_key = std::pair<layer_index, expert_id>;

class expert_store {
public:
  /// Reads and packs one expert. Called without the lock, from any thread.
  using loader = std::function<result<expert_ptr>(layer_index, expert_id)>;

  struct options {
    uint64_t bytes_max = UINT64_MAX; ///< Of all experts held.
    uint64_t expert_bytes = 0;       ///< Of one packed expert.
  };

  struct statistics {
    uint64_t experts = 0;
    uint64_t bytes = 0;
    uint64_t hits = 0;
    uint64_t loads = 0;
    uint64_t evictions = 0;
  };

  expert_store(options x, loader load);

  /// Returns the expert, loading it when it is not there. Two threads that miss
  /// the same expert both load it; one copy stays.
  result<expert_ptr> acquire(layer_index layer, expert_id expert);

  /// Loads `wanted` on the lanes, as many as may be held, in order; what is
  /// there already costs nothing. Returns the first failure in that order.
  result<void> preload(std::span<const expert_key> wanted,
                       kernels::lanes& lanes);

  /// Drops every expert for which `keep(layer, expert)` is false.
  template <class Predicate>
  void retain(Predicate keep) {
    std::lock_guard guard{mutex_};
    for (auto i = entries_.begin(); i != entries_.end();) {
      auto [layer, expert] = i->first;
      i = keep(layer, expert) ? std::next(i) : erase(i);
    }
  }

  /// How many experts can be held at one time, at least 1.
  size_t capacity() const;

  statistics stats() const;

private:
  struct entry {
    expert_ptr expert;
    std::list<expert_key>::iterator recent;
  };
  using entry_map = std::map<expert_key, entry>;

  expert_ptr find(expert_key x);
  entry_map::iterator erase(entry_map::iterator i);

  const options options_;
  const loader load_;
  mutable std::mutex mutex_;
  entry_map entries_;
  std::list<expert_key> recent_; ///< Most recently used first.
  statistics stats_;
};

} // namespace troupe
