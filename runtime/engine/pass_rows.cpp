#include "runtime/engine/pass_rows.hpp"

#include "runtime/assert.hpp"

namespace troupe {

void pass_rows::bind(const batch& x, kv_cache& cache) {
  slots_.clear();
  prompts_.clear();
  slot_of_.clear();
  blocks_.clear();
  cached_.clear();
  wanted_.clear();
  for (const auto& slot : x.slots) {
    auto& list = blocks_.emplace_back();
    for (auto id : slot.blocks)
      list.push_back(cache.block(id));
    prompts_.push_back(slot.prompt_tokens);
    slots_.push_back({});
  }
  for (size_t r = 0; r < x.rows.size(); ++r) {
    const auto& row = x.rows[r];
    auto& slot = slots_[row.slot];
    if (slot.count++ == 0) {
      slot.first = r;
      slot.position = row.position;
    }
    // Recurrent layers take a slot's rows as one stretch of the sequence.
    TROUPE_ASSERT(r == slot.first + slot.count - 1 &&
                  row.position == slot.position + slot.count - 1);
    slot_of_.push_back(row.slot);
    cached_.push_back({row.position, {blocks_[row.slot], 0}});
    if (row.output == row_output::logits)
      wanted_.push_back(r);
  }
  if (cache.states().sequences() == 0)
    return;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto& slot = slots_[i];
    TROUPE_ASSERT(x.slots[i].state.has_value());
    slot.state = *x.slots[i].state;
    slot.copies = cache.states().begin(slot.state, slot.position);
  }
}

std::span<const kernels::attention_row> pass_rows::cached(const kv_cache& cache,
                                                          uint32_t layer) {
  for (auto& row : cached_)
    row.cache.offset = cache.layer_offset(layer);
  return cached_;
}

std::vector<kernels::rope_row>
pass_rows::turned(const kernels::rope_scaling& scaling) const {
  std::vector<kernels::rope_row> out;
  out.reserve(cached_.size());
  for (size_t r = 0; r < cached_.size(); ++r) {
    const auto position = cached_[r].position;
    out.push_back({position, kernels::rope_set_of(
                               scaling, prompts_[slot_of_[r]], position)});
  }
  return out;
}

void pass_rows::end(kv_cache& cache) const {
  if (cache.states().sequences() == 0)
    return;
  for (const auto& x : slots_)
    cache.states().end(x.state, x.position + static_cast<uint32_t>(x.count));
}

} // namespace troupe
