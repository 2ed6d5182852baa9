// One allocation for all blocks, one for all states.
#include "runtime/engine/kv_cache.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace troupe {

namespace {

bool has_attention(const layer_recipe& x) {
  return x.mixer == mixer_kind::gqa || x.mixer == mixer_kind::mla;
}

/// One layout for all layers: a model's attention is of one kind.
kernels::kv_layout layout_of(const model_config& config, kernels::dtype type) {
  const auto latent = [](const layer_recipe& x) {
    return x.mixer == mixer_kind::mla;
  };
  kernels::kv_layout out;
  out.type = type;
  if (std::ranges::any_of(config.layers, latent)) {
    out.kv_heads = 1;
    out.head_dim = config.mla.kv_lora_rank + config.mla.rope_dim;
    out.value_dim = config.mla.kv_lora_rank;
    out.values = kernels::kv_values::leading_keys;
  } else {
    out.kv_heads = config.attention.kv_heads;
    out.head_dim = config.attention.head_dim;
  }
  return out;
}

/// How the bound is divided.
struct division {
  uint64_t states = 0;
  uint64_t blocks = 0;
};

division divide(const kv_cache_options& options, uint64_t block_bytes,
                uint64_t state_bytes) {
  division out;
  if (state_bytes > 0)
    out.states = std::clamp<uint64_t>(options.bytes_max / 2 / state_bytes, 1,
                                      options.sequences_max);
  const auto taken = out.states * state_bytes;
  if (taken < options.bytes_max)
    out.blocks = (options.bytes_max - taken) / block_bytes;
  if (options.tokens_max != 0)
    out.blocks = std::min(
      out.blocks, (options.tokens_max - 1) / kv_cache::block_tokens() + 1);
  out.blocks =
    std::min<uint64_t>(out.blocks, std::numeric_limits<uint32_t>::max());
  return out;
}

} // namespace

result<kv_cache> kv_cache::make(const model_config& config,
                                kv_cache_options options) {
  const auto bytes = block_bytes(config, options.type);
  const state_layout state{config};
  const auto share = divide(options, bytes, state.sequence_bytes());
  if (share.blocks == 0)
    return fail(
      ec::out_of_memory,
      "KV cache: {} bytes allowed, one block of {} tokens needs {}{}; "
      "raise the bound",
      options.bytes_max, block_tokens(), bytes,
      share.states == 0
        ? std::string{}
        : fmt::format(" and one sequence's state {}", state.sequence_bytes()));
  kv_cache out;
  out.layout_ = layout_of(config, options.type);
  out.blocks_ = static_cast<uint32_t>(share.blocks);
  out.block_bytes_ = bytes;
  size_t offset = 0;
  for (const auto& layer : config.layers) {
    out.layer_offsets_.push_back(offset);
    offset += has_attention(layer) ? out.layout_.block_bytes() : 0;
  }
  if (share.states > 0) {
    auto states = state_arena::make(state, static_cast<uint32_t>(share.states));
    if (!states)
      return tl::unexpected{states.error()};
    out.states_ = std::move(*states);
  }
  try {
    out.memory_ = kernels::aligned_buffer{share.blocks * bytes};
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory,
                "KV cache: the system has no {} bytes; lower the bound",
                share.blocks * bytes);
  }
  return out;
}

std::byte* kv_cache::block(uint32_t id) {
  TROUPE_ASSERT(id < blocks_);
  return memory_.data() + size_t{id} * block_bytes_;
}

uint64_t kv_cache::block_bytes(const model_config& config,
                               kernels::dtype type) {
  const auto layers =
    static_cast<uint64_t>(std::ranges::count_if(config.layers, has_attention));
  // A model without attention counts its tokens in blocks all the same.
  return std::max<uint64_t>(layers * layout_of(config, type).block_bytes(),
                            kernels::aligned_buffer::alignment);
}

uint64_t kv_cache::bytes_for(const model_config& config, kernels::dtype type,
                             uint64_t tokens) {
  const auto blocks = (tokens + block_tokens() - 1) / block_tokens();
  // States get half of the bound: twice theirs, or theirs and the blocks.
  const auto state = state_layout{config}.sequence_bytes();
  const auto kv = blocks * block_bytes(config, type);
  return state + std::max(state, kv);
}

} // namespace troupe
