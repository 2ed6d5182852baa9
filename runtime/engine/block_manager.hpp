// Bookkeeping of KV cache blocks, and of the states of recurrent layers where
// a model has such: which ids are free, which belong to whom.
// Invariant: every id is in exactly one place, the free list or one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// The KV blocks of one sequence in order of position: token p lies in block
/// `ids[p / block_tokens]`, at offset p mod block_tokens.
struct block_table {
  std::vector<uint32_t> ids;
  /// Its place in the state arena, if there is one.
  std::optional<uint32_t> state;
};

/// Whether sequences have a state beside their blocks, and for how many at once
/// there is room.
struct state_slots {
  uint32_t count = 0; ///< 0: sequences have no state.
};

/// Hands out block ids 0 ... blocks-1, each to one owner at a time.
class block_manager {
public:
  /// @param blocks Number of blocks of the KV cache.
  /// @param block_tokens Tokens per block.
  block_manager(uint32_t blocks, uint32_t block_tokens,
                state_slots states = {});

  /// Extends `table` until it holds `tokens` tokens, and gives it a state if it
  /// needs one. All or nothing: returns false and changes nothing when too few
  /// blocks, or no state, are free.
  [[nodiscard]] bool allocate(block_table& table, uint32_t tokens);

  /// Takes back every block and the state of `table` and empties it.
  void deallocate(block_table& table);

  /// Blocks that `tokens` tokens occupy.
  uint32_t blocks_for(uint32_t tokens) const noexcept;

  uint32_t blocks() const noexcept {
    return static_cast<uint32_t>(taken_.size());
  }
  uint32_t blocks_free() const noexcept {
    return static_cast<uint32_t>(free_.size());
  }
  uint32_t states_free() const noexcept {
    return static_cast<uint32_t>(free_states_.size());
  }
  uint32_t block_tokens() const noexcept {
    return block_tokens_;
  }
  uint64_t capacity_tokens() const noexcept {
    return uint64_t{blocks()} * block_tokens_;
  }

private:
  uint32_t block_tokens_;
  std::vector<uint32_t> free_; ///< stack; the lowest id is on top at first
  std::vector<bool> taken_;    ///< [blocks]
  uint32_t states_;
  std::vector<uint32_t> free_states_; ///< stack, as above
};

} // namespace troupe
