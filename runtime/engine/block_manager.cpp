// A stack of free ids: what was given back last is handed out first, while its
// memory is still warm.
#include "runtime/engine/block_manager.hpp"

#include "runtime/assert.hpp"

namespace troupe {

namespace {

/// Ids 0 ... count - 1, the lowest on top.
std::vector<uint32_t> all_free(uint32_t count) {
  std::vector<uint32_t> out;
  out.reserve(count);
  for (uint32_t i = count; i > 0; --i)
    out.push_back(i - 1);
  return out;
}

} // namespace

block_manager::block_manager(uint32_t blocks, uint32_t block_tokens,
                             state_slots states)
  : block_tokens_(block_tokens), free_(all_free(blocks)), taken_(blocks, false),
    states_(states.count), free_states_(all_free(states.count)) {
  TROUPE_ASSERT(block_tokens > 0);
}

bool block_manager::allocate(block_table& table, uint32_t tokens) {
  const auto wanted = blocks_for(tokens);
  const auto held = static_cast<uint32_t>(table.ids.size());
  const bool needs_state = states_ > 0 && !table.state;
  if (wanted > held && wanted - held > blocks_free())
    return false;
  if (needs_state && free_states_.empty())
    return false;
  if (needs_state) {
    table.state = free_states_.back();
    free_states_.pop_back();
  }
  table.ids.reserve(wanted);
  while (table.ids.size() < wanted) {
    const auto id = free_.back();
    free_.pop_back();
    taken_[id] = true;
    table.ids.push_back(id);
  }
  return true;
}

void block_manager::deallocate(block_table& table) {
  while (!table.ids.empty()) {
    const auto id = table.ids.back();
    table.ids.pop_back();
    TROUPE_ASSERT(id < taken_.size() && taken_[id]);
    taken_[id] = false;
    free_.push_back(id);
  }
  if (table.state) {
    TROUPE_ASSERT(*table.state < states_);
    free_states_.push_back(*table.state);
    table.state.reset();
  }
}

uint32_t block_manager::blocks_for(uint32_t tokens) const noexcept {
  return tokens / block_tokens_ + (tokens % block_tokens_ == 0 ? 0 : 1);
}

} // namespace troupe
