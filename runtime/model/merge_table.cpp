// See merge_table.hpp. Short words scan an array of ranks, long ones use a heap
// and a linked list; both give the same tokens.
#include "runtime/model/merge_table.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace troupe {

namespace {

constexpr uint32_t no_rank = std::numeric_limits<uint32_t>::max();
constexpr size_t short_word_max = 64;

uint64_t pair_of(token_id left, token_id right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
         static_cast<uint32_t>(right);
}

/// Order of a heap whose top is the step to take next.
bool is_later(const bpe_scratch::step& x, const bpe_scratch::step& y) {
  return x.rank != y.rank ? x.rank > y.rank : x.at > y.at;
}

} // namespace

merge_table::merge_table(size_t count)
  : entries_(std::bit_ceil(std::max<size_t>(2 * count, 2))) {
  // nop
}

size_t merge_table::slot_of(uint64_t pair) const {
  auto mixed = pair * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(mixed ^ (mixed >> 32)) & (entries_.size() - 1);
}

void merge_table::add(token_id left, token_id right, uint32_t rank,
                      token_id merged) {
  auto pair = pair_of(left, right);
  auto slot = slot_of(pair);
  while (entries_[slot].pair != empty_pair && entries_[slot].pair != pair)
    slot = (slot + 1) & (entries_.size() - 1);
  entries_[slot] = {pair, rank, merged};
}

const merge_table::entry* merge_table::find(token_id left,
                                            token_id right) const {
  auto pair = pair_of(left, right);
  auto slot = slot_of(pair);
  while (entries_[slot].pair != empty_pair) {
    if (entries_[slot].pair == pair)
      return &entries_[slot];
    slot = (slot + 1) & (entries_.size() - 1);
  }
  return nullptr;
}

void merge_table::apply(bpe_scratch& scratch) const {
  if (scratch.ids.size() <= short_word_max)
    apply_short(scratch);
  else
    apply_long(scratch);
}

uint32_t merge_table::rank_of(token_id left, token_id right) const {
  auto* merge = find(left, right);
  return merge ? merge->rank : no_rank;
}

void merge_table::apply_short(bpe_scratch& scratch) const {
  auto& ids = scratch.ids;
  auto& ranks = scratch.ranks;
  ranks.clear();
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    ranks.push_back(rank_of(ids[i], ids[i + 1]));
  while (!ranks.empty()) {
    auto best = std::min_element(ranks.begin(), ranks.end());
    if (*best == no_rank)
      return;
    auto at = best - ranks.begin();
    auto i = static_cast<size_t>(at);
    ids[i] = find(ids[i], ids[i + 1])->merged;
    ids.erase(ids.begin() + at + 1);
    ranks.erase(best);
    if (i < ranks.size())
      ranks[i] = rank_of(ids[i], ids[i + 1]);
    if (i > 0)
      ranks[i - 1] = rank_of(ids[i - 1], ids[i]);
  }
}

/// Puts the pair that begins at symbol `at` into the heap, if it can merge.
void merge_table::offer(bpe_scratch& scratch, int32_t at) const {
  if (at < 0)
    return;
  const auto& left = scratch.symbols[static_cast<size_t>(at)];
  if (left.next < 0)
    return;
  const auto& right = scratch.symbols[static_cast<size_t>(left.next)];
  if (auto rank = rank_of(left.id, right.id); rank != no_rank) {
    scratch.steps.push_back({rank, at, left.id, right.id});
    std::push_heap(scratch.steps.begin(), scratch.steps.end(), is_later);
  }
}

void merge_table::apply_long(bpe_scratch& scratch) const {
  constexpr token_id merged_away = -1;
  auto& symbols = scratch.symbols;
  auto& steps = scratch.steps;
  symbols.clear();
  steps.clear();
  auto count = static_cast<int32_t>(scratch.ids.size());
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back(
      {scratch.ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  for (int32_t i = 0; i < count; ++i)
    offer(scratch, i);
  while (!steps.empty()) {
    std::pop_heap(steps.begin(), steps.end(), is_later);
    auto step = steps.back();
    steps.pop_back();
    auto& left = symbols[static_cast<size_t>(step.at)];
    if (left.id != step.left || left.next < 0)
      continue; // the pair is gone
    auto& right = symbols[static_cast<size_t>(left.next)];
    if (right.id != step.right)
      continue;
    left.id = find(step.left, step.right)->merged;
    left.next = right.next;
    right.id = merged_away;
    if (left.next >= 0)
      symbols[static_cast<size_t>(left.next)].previous = step.at;
    offer(scratch, left.previous);
    offer(scratch, step.at);
  }
  scratch.ids.clear();
  for (int32_t i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next)
    scratch.ids.push_back(symbols[static_cast<size_t>(i)].id);
}

} // namespace troupe
