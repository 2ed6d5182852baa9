#include "actors/expert/expert_store.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace troupe {

expert_store::expert_store(options x, loader load)
  : options_(x), load_(std::move(load)) {
  // nop
}

result<expert_ptr> expert_store::acquire(layer_index layer, expert_id expert) {
  auto wanted = expert_key{layer, expert};
  if (auto known = find(wanted))
    return known;
  auto loaded = load_(layer, expert);
  if (!loaded)
    return loaded;
  auto fresh = std::move(*loaded);
  std::lock_guard guard{mutex_};
  if (auto i = entries_.find(wanted); i != entries_.end())
    return i->second.expert;
  ++stats_.loads;
  auto bytes = fresh->size_bytes();
  while (!entries_.empty() && stats_.bytes + bytes > options_.bytes_max) {
    ++stats_.evictions;
    erase(entries_.find(recent_.back()));
  }
  recent_.push_front(wanted);
  entries_.emplace(wanted, entry{fresh, recent_.begin()});
  stats_.bytes += bytes;
  return fresh;
}

result<void> expert_store::preload(std::span<const expert_key> wanted,
                                   kernels::lanes& lanes) {
  auto count = std::min(wanted.size(), capacity());
  std::vector<std::optional<error>> failures(count);
  lanes.parallel_for(count, [&](size_t i, size_t) {
    if (auto x = acquire(wanted[i].first, wanted[i].second); !x)
      failures[i] = std::move(x.error());
  });
  for (auto& x : failures)
    if (x)
      return tl::unexpected(std::move(*x));
  return {};
}

size_t expert_store::capacity() const {
  auto bytes = std::max<uint64_t>(options_.expert_bytes, 1);
  return static_cast<size_t>(std::max<uint64_t>(options_.bytes_max / bytes, 1));
}

expert_store::statistics expert_store::stats() const {
  std::lock_guard guard{mutex_};
  auto result = stats_;
  result.experts = entries_.size();
  return result;
}

expert_ptr expert_store::find(expert_key x) {
  std::lock_guard guard{mutex_};
  auto i = entries_.find(x);
  if (i == entries_.end())
    return nullptr;
  ++stats_.hits;
  recent_.splice(recent_.begin(), recent_, i->second.recent);
  return i->second.expert;
}

expert_store::entry_map::iterator expert_store::erase(entry_map::iterator i) {
  stats_.bytes -= i->second.expert->size_bytes();
  recent_.erase(i->second.recent);
  return entries_.erase(i);
}

} // namespace troupe
