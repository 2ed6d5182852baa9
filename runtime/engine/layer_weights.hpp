// The weights of one decoder layer outside its experts, packed for the kernels.
#pragma once

#include "kernels/matmul.hpp"
#include "kernels/moe_ffn.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace troupe {

/// In f32, ready to multiply: 1 is added where the checkpoint leaves it out.
struct norm_weights {
  std::vector<float> weight; ///< [columns]; empty: there is no such norm
  std::vector<float> bias;   ///< [columns] of a layer norm, else empty

  bool empty() const {
    return weight.empty();
  }
};

/// Biases are empty where the recipe has none.
struct gqa_weights {
  kernels::packed_weight q;  ///< [q_size, H]
  kernels::packed_weight k;  ///< [kv_size, H]
  kernels::packed_weight v;  ///< [kv_size, H]
  kernels::packed_weight o;  ///< [H, q_size]
  std::vector<float> q_bias; ///< [q_size]
  std::vector<float> k_bias; ///< [kv_size]
  std::vector<float> v_bias; ///< [kv_size]
  std::vector<float> o_bias; ///< [H]
  /// [head_dim], or [q_size] and [kv_size] of a norm over the whole
  /// projection; empty: no norm, or one without a weight (see the recipe).
  std::vector<float> q_norm;
  std::vector<float> k_norm;
  std::vector<float> sinks;    ///< [heads]
  kernels::packed_weight gate; ///< [q_size, H], heads as in q; or empty
};

struct mla_weights {
  kernels::packed_weight q;    ///< [heads * query_dim, H]; no query latent
  kernels::packed_weight q_a;  ///< [q_lora_rank, H]; with a query latent
  norm_weights q_a_norm;       ///< [q_lora_rank]
  kernels::packed_weight q_b;  ///< [heads * query_dim, q_lora_rank]
  kernels::packed_weight kv_a; ///< [kv_lora_rank + rope_dim, H]
  norm_weights kv_a_norm;      ///< [kv_lora_rank]
  /// Per head [kv_lora_rank, nope_dim]: takes a query to the latent.
  std::vector<kernels::packed_weight> key_up;
  /// Per head [value_dim, kv_lora_rank]: takes the latent to a value.
  std::vector<kernels::packed_weight> value_up;
  kernels::packed_weight o;     ///< [H, heads * value_dim]
  std::vector<float> q_a_bias;  ///< [q_lora_rank]
  std::vector<float> kv_a_bias; ///< [kv_lora_rank + rope_dim]
  std::vector<float> o_bias;    ///< [H]
};

struct short_conv_weights {
  kernels::packed_weight in;      ///< [3 H, H]: rows of B, of C, of x
  kernels::packed_weight out;     ///< [H, H]
  std::vector<float> kernel;      ///< [taps, H], the current token's tap last
  std::vector<float> in_bias;     ///< [3 H]
  std::vector<float> out_bias;    ///< [H]
  std::vector<float> kernel_bias; ///< [H]
};

struct gated_delta_weights {
  /// [conv_size + value_size, H]: rows of q, k, v, then z; each head by head.
  kernels::packed_weight qkvz;
  /// [2 value_heads, H]: rows of b, then a.
  kernels::packed_weight ba;
  kernels::packed_weight out; ///< [H, value_size]
  std::vector<float> kernel;  ///< [taps, conv_size], the current one last
  std::vector<float> a_log;   ///< [value_heads]
  std::vector<float> dt_bias; ///< [value_heads]
  std::vector<float> norm;    ///< [value_dim], of the gated norm
};

/// One decoder layer. What the recipe does not have is empty.
struct layer_weights {
  norm_weights mixer_norm;  ///< [H], before the mixer
  norm_weights ffn_norm;    ///< [H], before the feed-forward
  norm_weights after_mixer; ///< [H], sandwich norms
  norm_weights after_ffn;   ///< [H], sandwich norms
  std::variant<gqa_weights, mla_weights, short_conv_weights,
               gated_delta_weights>
    mixer;
  kernels::packed_weight router;     ///< [experts, H]; MoE layers
  std::vector<float> router_bias;    ///< [experts], added to the logits
  std::vector<float> selection_bias; ///< [experts], added for the choice only
  /// The shared experts of a MoE layer as one, computed by the head.
  std::optional<kernels::expert_ffn> shared;
  kernels::packed_weight shared_gate;       ///< [1, H]
  std::optional<kernels::expert_ffn> dense; ///< dense layers only

  /// Bytes of the packed matrices.
  uint64_t size_bytes() const;
};

} // namespace troupe
