// Byte-pair encoding of one word: starting from its bytes, the pair of
// neighbours with the lowest merge rank (the leftmost of equals) becomes one
// token, until no pair has a rank.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/vocabulary.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// The merges of two tokens: (left, right) -> (rank, merged), in a flat hash
/// table with linear probing that is at most half full.
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

private:
  static constexpr uint64_t empty_pair = ~uint64_t{0};

  size_t slot_of(uint64_t pair) const;

  std::vector<entry> entries_; // a power of two of them
};

/// Working memory of `bpe_model::encode`: one per thread.
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

/// The `model` of type "BPE" over the byte-level alphabet.
class bpe_model {
public:
  /// Reads `model` of a tokenizer.json; its vocabulary goes to `vocab`.
  static result<bpe_model> from_json(const nlohmann::json& x,
                                     vocabulary& vocab);

  /// Appends the tokens of `word` (any bytes) to `out`. Takes
  /// O(n log n) steps for n bytes. Fails if the vocabulary lacks a byte.
  result<void> encode(std::string_view word, const vocabulary& vocab,
                      bpe_scratch& scratch, std::vector<token_id>& out) const;

private:
  result<void> read_options(const nlohmann::json& x);
  result<void> read_merges(const nlohmann::json& list, const vocabulary& vocab);
  result<void> add_merge(const nlohmann::json& x, uint32_t rank,
                         const vocabulary& vocab);
  result<void> start(std::string_view word, std::vector<token_id>& out) const;
  uint32_t rank_of(token_id left, token_id right) const;
  void merge_short(bpe_scratch& scratch) const;
  void merge_long(bpe_scratch& scratch) const;
  void offer(bpe_scratch& scratch, int32_t at) const;

  std::array<token_id, 256> byte_ids_{}; // -1: not in the vocabulary
  std::optional<token_id> unknown_;
  bool fuse_unknown_ = false;
  bool ignore_merges_ = false; // a whole word in the vocabulary is a token
  merge_table merges_;
};

} // namespace troupe
