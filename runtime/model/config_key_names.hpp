// The names that [keys] and [defaults] of a family file may use: what a recipe
// can take from config.json.
#pragma once

#include <string_view>

namespace troupe {

inline constexpr std::string_view config_key_names[]{
  // The model.
  "hidden_size", "num_layers", "vocab_size", "max_positions", "norm_eps",
  "tied_embeddings", "head_bias", "embedding_multiplier",
  "embedding_times_root", // true: the embedding times sqrt(hidden_size)
  "residual_multiplier", "logits_divisor",

  // Attention.
  "heads", "kv_heads", "head_dim", "attention_scale", "qk_norm", "qkv_bias",
  "output_bias", "clip_qkv", "temperature", "temperature_scale",
  "temperature_floor", "q_lora_rank", "kv_lora_rank", "nope_dim", "rope_dim",
  "value_dim",

  // Position.
  "rope_theta", "rope_scaling", "rope_interleaved", "partial_rotary_factor",
  "rotary_dim", "original_positions",

  // Other mixers.
  "conv_kernel", "conv_bias", "delta_kernel", "delta_key_heads",
  "delta_value_heads", "delta_key_dim", "delta_value_dim",

  // Router and feed-forward.
  "num_experts", "top_k", "normalize", "router_epsilon", "router_scale",
  "group_count", "groups_kept", "router_method", "router_jitter",
  "selection_bias", "activation", "activation_alpha", "activation_limit",
  "dense_size", "expert_size", "shared_size",
  "shared_experts", // how many of expert_size

  // Which layers are what.
  "dense_layers",  // list of dense ones
  "sparse_layers", // list of sparse ones; decides alone
  "ffn_types",     // "dense" or "sparse" for each; decides alone
  "sparse_step",   // sparse: layer + 1 is a multiple
  "sparse_period", // sparse: layer is a multiple
  "dense_first",   // so many dense ones at the beginning
  "sparse_last",   // the last sparse one; -1: no limit
  "layer_types",   // what each one mixes with
  "full_every",    // without layer_types: every n-th is full attention
  "window",        // tokens a sliding layer sees
  "window_from",   // without layer_types: sliding from this layer on
  "chunk",         // tokens of a chunk
  "rope_layers",   // 1 or 0 for each
  "no_rope_every", // without rope_layers: every n-th has no RoPE
};

} // namespace troupe
