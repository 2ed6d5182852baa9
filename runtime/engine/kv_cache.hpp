// Memory of keys and values: one arena of blocks, bounded when it is made. A
// block holds one stretch of positions of all layers, layer after layer, in the
// layout of kernels/kv_layout.hpp. Who owns which block is the block_manager's
// affair. Keys and values are rounded to the cache type when they are written,
// before any attention reads them.
#pragma once

#include "kernels/kv_layout.hpp"
#include "runtime/error.hpp"
#include "runtime/model/model_config.hpp"

#include <cstdint>

namespace troupe {

struct kv_cache_options {
  uint64_t bytes_max = uint64_t{256} << 20; ///< Bound on all layers together.
  uint64_t tokens_max = 0; ///< Room for so many is enough; 0: use the bound.
  kernels::dtype type = kernels::dtype::bf16; ///< bf16 or f32
};

class kv_cache {
public:
  /// Allocates as many blocks as the bounds allow, at least one. Errors:
  /// out_of_memory when `bytes_max` holds no block (says what one needs) or
  /// the system has no memory.
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
    return memory_.size_bytes();
  }
  const kernels::kv_layout& layout() const noexcept {
    return layout_;
  }

  /// Where block `id` starts. @pre `id < blocks()`.
  std::byte* block(uint32_t id);

  /// From the start of a block to the part of `layer`, in bytes.
  size_t layer_offset(uint32_t layer) const noexcept {
    return layer * layout_.block_bytes();
  }

  /// Bytes of one block: `block_tokens()` positions of all layers.
  static uint64_t block_bytes(const model_config& config, kernels::dtype type);

private:
  kernels::kv_layout layout_;
  uint32_t blocks_ = 0;
  size_t block_bytes_ = 0;
  kernels::aligned_buffer memory_;
};

} // namespace troupe
