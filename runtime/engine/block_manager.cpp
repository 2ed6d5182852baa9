// A stack of free ids: what was given back last is handed out first, while its
// memory is still warm.
#include "runtime/engine/block_manager.hpp"

#include "runtime/assert.hpp"

namespace troupe {

block_manager::block_manager(uint32_t blocks, uint32_t block_tokens)
  : block_tokens_(block_tokens), taken_(blocks, false) {
  TROUPE_ASSERT(block_tokens > 0);
  free_.reserve(blocks);
  for (uint32_t i = blocks; i > 0; --i)
    free_.push_back(i - 1);
}

bool block_manager::allocate(block_table& table, uint32_t tokens) {
  const auto wanted = blocks_for(tokens);
  const auto held = static_cast<uint32_t>(table.ids.size());
  if (wanted <= held)
    return true;
  if (wanted - held > blocks_free())
    return false;
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
}

uint32_t block_manager::blocks_for(uint32_t tokens) const noexcept {
  return tokens / block_tokens_ + (tokens % block_tokens_ == 0 ? 0 : 1);
}

} // namespace troupe
