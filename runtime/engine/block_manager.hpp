// Bookkeeping of KV cache blocks: which ids are free, which belong to whom.
// Invariant: every id is in exactly one place, the free list or one table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// The KV blocks of one sequence in order of position: token p lies in block
/// `ids[p / block_tokens]`, at offset p mod block_tokens.
struct block_table {
  std::vector<uint32_t> ids;
};

/// Hands out block ids 0 ... blocks-1, each to one owner at a time.
class block_manager {
public:
  /// @param blocks Number of blocks of the KV cache.
  /// @param block_tokens Tokens per block.
  block_manager(uint32_t blocks, uint32_t block_tokens);

  /// Extends `table` until it holds `tokens` tokens. All or nothing: returns
  /// false and changes nothing when too few blocks are free.
  [[nodiscard]] bool allocate(block_table& table, uint32_t tokens);

  /// Takes back every block of `table` and empties it.
  void deallocate(block_table& table);

  /// Blocks that `tokens` tokens occupy.
  uint32_t blocks_for(uint32_t tokens) const noexcept;

  uint32_t blocks() const noexcept {
    return static_cast<uint32_t>(taken_.size());
  }
  uint32_t blocks_free() const noexcept {
    return static_cast<uint32_t>(free_.size());
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
};

} // namespace troupe
