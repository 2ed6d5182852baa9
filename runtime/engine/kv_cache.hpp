// Memory of keys and values: one arena of blocks, bounded when it is made. A
// block holds one stretch of positions of all layers with attention, layer
// after layer, in the layout of kernels/kv_layout.hpp. Who owns which block is
// the block_manager's affair. Keys and values are rounded to the cache type
// when they are written, before any attention reads them. Models with recurrent
// layers have the states of their sequences here too.
#pragma once

#include "kernels/kv_layout.hpp"
#include "runtime/engine/recurrent_state.hpp"
#include "runtime/error.hpp"
#include "runtime/model/model_config.hpp"

#include <cstdint>

namespace troupe {

struct kv_cache_options {
  /// Bound on blocks and states together; states take at most half of it.
  uint64_t bytes_max = uint64_t{256} << 20;
  uint64_t tokens_max = 0; ///< Room for so many is enough; 0: use the bound.
  kernels::dtype type = kernels::dtype::bf16; ///< bf16 or f32
  /// Sequences that run at once; more states than that are never made.
  uint32_t sequences_max = 64;
};

class kv_cache {
public:
  /// Allocates as many blocks (and states) as the bounds allow, at least one.
  /// Errors: out_of_memory when `bytes_max` holds no block and state (says what
  /// they need) or the system has no memory.
  static result<kv_cache> make(const model_config& config,
                               kv_cache_options options);

  uint32_t blocks() const noexcept {
    return blocks_;
  }
  static constexpr uint32_t block_tokens() noexcept {
    return static_cast<uint32_t>(kernels::kv_block_tokens);
  }
  uint64_t capacity_tokens() const noexcept {
    return uint64_t{blocks_} * block_tokens();
  }
  uint64_t size_bytes() const noexcept {
    return memory_.size_bytes() + states_.size_bytes();
  }
  /// Without sequences when no layer is recurrent.
  state_arena& states() noexcept {
    return states_;
  }
  const state_arena& states() const noexcept {
    return states_;
  }
  const kernels::kv_layout& layout() const noexcept {
    return layout_;
  }

  /// Where block `id` starts. @pre `id < blocks()`.
  std::byte* block(uint32_t id);

  /// From the start of a block to the part of `layer`, in bytes.
  /// @pre The layer has attention.
  size_t layer_offset(uint32_t layer) const noexcept {
    return layer_offsets_[layer];
  }

  /// Bytes of one block: `block_tokens()` positions of all layers.
  static uint64_t block_bytes(const model_config& config, kernels::dtype type);

  /// Bytes that `make` needs for one sequence of `tokens` tokens.
  static uint64_t bytes_for(const model_config& config, kernels::dtype type,
                            uint64_t tokens);

private:
  kernels::kv_layout layout_;
  std::vector<size_t> layer_offsets_; ///< [layers]
  uint32_t blocks_ = 0;
  size_t block_bytes_ = 0;
  kernels::aligned_buffer memory_;
  state_arena states_;
};

} // namespace troupe
