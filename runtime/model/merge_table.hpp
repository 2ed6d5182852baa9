// The merges of byte-pair encoding: which two neighbours become one token, and
// in which order. The lowest rank goes first, of equals the leftmost.
#pragma once

#include "runtime/ids.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Working memory of `merge_table::apply`: one per thread.
struct bpe_scratch {
  struct symbol {
    token_id id;
    int32_t previous;
    int32_t next;
  };
  struct step {
    uint32_t rank;
    int32_t at;
    token_id left;
    token_id right;
  };

  std::vector<token_id> ids;
  std::vector<uint32_t> ranks; // of (ids[i], ids[i + 1])
  std::vector<symbol> symbols; // long words: a linked list
  std::vector<step> steps;     // long words: a heap, lowest rank first
};

/// (left, right) -> (rank, merged), in a flat hash table with linear probing
/// that is at most half full.
class merge_table {
public:
  struct entry {
    uint64_t pair = empty_pair;
    uint32_t rank = 0;
    token_id merged = 0;
  };

  /// Makes room for `count` pairs.
  explicit merge_table(size_t count = 0);

  /// Adds a pair; a pair that is there already gets the new rank.
  /// @pre fewer pairs than announced were added so far
  void add(token_id left, token_id right, uint32_t rank, token_id merged);

  /// Returns the merge of two neighbours, or null.
  const entry* find(token_id left, token_id right) const;

  /// Merges `scratch.ids` until no pair of neighbours has a rank. Takes
  /// O(n log n) steps.
  void apply(bpe_scratch& scratch) const;

private:
  static constexpr uint64_t empty_pair = ~uint64_t{0};

  size_t slot_of(uint64_t pair) const;
  uint32_t rank_of(token_id left, token_id right) const;
  void apply_short(bpe_scratch& scratch) const;
  void apply_long(bpe_scratch& scratch) const;
  void offer(bpe_scratch& scratch, int32_t at) const;

  std::vector<entry> entries_; // a power of two of them
};

} // namespace troupe
