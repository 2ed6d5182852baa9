// One allocation for all blocks.
#include "runtime/engine/kv_cache.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace troupe {

namespace {

kernels::kv_layout layout_of(const model_config& config, kernels::dtype type) {
  return {config.attention.kv_heads, config.attention.head_dim, type};
}

} // namespace

result<kv_cache> kv_cache::make(const model_config& config,
                                kv_cache_options options) {
  const auto bytes = block_bytes(config, options.type);
  auto blocks = options.bytes_max / bytes;
  if (blocks == 0)
    return fail(ec::out_of_memory,
                "KV cache: {} bytes allowed, one block of {} tokens needs {}; "
                "raise the bound",
                options.bytes_max, block_tokens(), bytes);
  if (options.tokens_max != 0)
    blocks = std::min(blocks, (options.tokens_max - 1) / block_tokens() + 1);
  blocks = std::min<uint64_t>(blocks, std::numeric_limits<uint32_t>::max());
  kv_cache out;
  out.layout_ = layout_of(config, options.type);
  out.blocks_ = static_cast<uint32_t>(blocks);
  out.block_bytes_ = bytes;
  try {
    out.memory_ = kernels::aligned_buffer{blocks * bytes};
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory,
                "KV cache: the system has no {} bytes; lower the bound",
                blocks * bytes);
  }
  return out;
}

std::byte* kv_cache::block(uint32_t id) {
  TROUPE_ASSERT(id < blocks_);
  return memory_.data() + size_t{id} * block_bytes_;
}

uint64_t kv_cache::block_bytes(const model_config& config,
                               kernels::dtype type) {
  return uint64_t{config.num_layers} * layout_of(config, type).block_bytes();
}

} // namespace troupe
