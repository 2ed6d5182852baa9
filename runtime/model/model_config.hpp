// The resolved recipe of one model: every number the forward pass needs, read
// from config.json through a family file and checked. One nested struct per
// operation; code branches on these properties and never on a family's name.
#pragma once

#include "kernels/activation.hpp"
#include "kernels/quant.hpp"
#include "kernels/rope_scaling.hpp"
#include "kernels/router_options.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What mixes the tokens of a sequence in a layer.
enum class mixer_kind : uint8_t {
  gqa,         ///< Attention with grouped key/value heads.
  mla,         ///< Attention over a compressed latent.
  short_conv,  ///< Gated short convolution; no keys and values.
  gated_delta, ///< Gated delta rule with a short convolution; recurrent.
};

enum class ffn_kind : uint8_t { dense, moe };

enum class norm_kind : uint8_t {
  rms,
  layer, ///< Mean taken off too; has a bias tensor.
};

struct norm_config {
  norm_kind kind = norm_kind::rms;
  double eps = 1e-6;
  /// Weights are stored as w - 1. The loader adds 1: kernels see w.
  bool unit_offset = false;
};

struct rope_config {
  double theta = 10000.0;
  kernels::rope_pairs pairs = kernels::rope_pairs::half_split;
  /// First dims of each head (with mla: of its rope part) that rotate; even.
  uint32_t rotary_dim = 0;
  kernels::rope_scaling scaling; ///< Checked against theta and rotary_dim.
};

enum class qk_norm_kind : uint8_t {
  none,
  per_head, ///< Each query and key head by itself; weight [head_dim].
  whole,    ///< The whole projection; weights [q_size] and [kv_size].
};

enum class qk_norm_place : uint8_t { before_rope, after_rope };

struct qk_norm_config {
  qk_norm_kind kind = qk_norm_kind::none;
  qk_norm_place place = qk_norm_place::before_rope;
  bool weighted = true;          ///< false: no tensor, the weight is 1.
  bool rope_layers_only = false; ///< Layers without RoPE have no norm.
};

/// sigmoid(gate) * attention output, before the output projection. Where the
/// checkpoint keeps the gate's rows; `gqa_weights` has them apart in any case.
enum class output_gate : uint8_t {
  none,
  separate, ///< A tensor of its own, [q_size, H].
  in_query, ///< q_proj is [2 q_size, H]: per head the query, then the gate.
};

/// Of gqa layers; with mla, `heads`, `scale` and `rope` count.
struct attention_config {
  uint32_t heads = 0;
  uint32_t kv_heads = 0; ///< Divides `heads`.
  uint32_t head_dim = 0;
  double scale = 0; ///< Times q k, before softmax; all factors resolved.
  qk_norm_config qk_norm;
  bool qkv_bias = false;    ///< q, k and v projections have a bias.
  bool output_bias = false; ///< The output projection has a bias.
  bool sinks = false;       ///< One more logit per head in softmax, learned.
  output_gate gate = output_gate::none;
  double clip_qkv = 0; ///< q, k and v are clamped to +- this; 0: no.
  /// In layers with `temperature`: q *= 1 + scale * log(1 + floor((p + 1) /
  /// floor)) at position p.
  double temperature_scale = 0;
  double temperature_floor = 0;
  rope_config rope;

  /// Columns of the query projection: heads x head_dim.
  uint32_t q_size() const {
    return heads * head_dim;
  }
  /// Columns of the key (and of the value) projection.
  uint32_t kv_size() const {
    return kv_heads * head_dim;
  }
};

/// Latent attention: a query head is [nope_dim | rope_dim], a key head
/// [nope_dim of the latent | rope_dim shared by all heads].
struct mla_config {
  uint32_t q_lora_rank = 0; ///< 0: one query projection, no latent.
  uint32_t kv_lora_rank = 0;
  uint32_t nope_dim = 0;
  uint32_t rope_dim = 0;
  uint32_t value_dim = 0;
  double norm_eps = 1e-6; ///< Of the norms of the latents.

  /// Columns of one query head.
  uint32_t query_dim() const {
    return nope_dim + rope_dim;
  }
};

/// [B, C, x] = in(h); y = out(C * conv(B * x)); each of [H].
struct short_conv_config {
  uint32_t kernel = 0; ///< Taps, the current token's included.
  bool bias = false;   ///< Of in, out and the convolution.
};

struct gated_delta_config {
  uint32_t kernel = 0; ///< Taps of the convolution before q, k and v.
  uint32_t key_heads = 0;
  uint32_t value_heads = 0; ///< A multiple of `key_heads`.
  uint32_t key_dim = 0;     ///< Of one head.
  uint32_t value_dim = 0;   ///< Of one head.

  uint32_t key_size() const {
    return key_heads * key_dim;
  }
  uint32_t value_size() const {
    return value_heads * value_dim;
  }
  /// Channels of the convolution: q, k, v.
  uint32_t conv_size() const {
    return 2 * key_size() + value_size();
  }
};

struct router_config {
  uint32_t num_experts = 0;
  uint32_t top_k = 0; ///< 1 <= top_k <= num_experts.
  kernels::router_score score = kernels::router_score::softmax;
  kernels::router_normalize normalize = kernels::router_normalize::no;
  double epsilon = 0; ///< For `normalize`.
  kernels::router_epsilon epsilon_use = kernels::router_epsilon::added;
  double scale = 1; ///< Times every weight, at the end.
  kernels::router_groups groups;
  double jitter = 0;           ///< sparsemixer only.
  bool logit_bias = false;     ///< The router has a bias tensor.
  bool selection_bias = false; ///< A tensor is added for the choice only.
  /// The weight multiplies the expert's input; its output counts as it is.
  bool scales_input = false;
};

/// The same for the kernel; biases and ISA are the caller's.
kernels::router_options kernels_options(const router_config& x);

/// How a checkpoint keeps its experts.
enum class expert_layout : uint8_t {
  separate, ///< gate, up and down of each expert are tensors.
  fused,    ///< One tensor of gate and up, one of down, for all experts.
};

using kernels::weight_format;

struct expert_storage {
  expert_layout layout = expert_layout::separate;
  bool transposed = false;  ///< [inputs, outputs] instead of [outputs, inputs].
  bool interleaved = false; ///< gate and up alternate; else gate, then up.
  bool bias = false;        ///< Of gate, up and down.
  weight_format format = weight_format::plain;
};

/// The gated feed-forward of dense layers and of experts:
/// down(activation(gate(x)) * up(x)).
struct ffn_config {
  kernels::activation_options activation;
  uint32_t dense_size = 0;  ///< Intermediate size of dense layers.
  uint32_t expert_size = 0; ///< Intermediate size of one expert.
  uint32_t shared_size = 0; ///< Of all shared experts together; 0: none.
  bool shared_gate = false; ///< y += sigmoid(x . g) * shared(x)
  expert_storage experts;
};

/// What one decoder layer is made of.
struct layer_recipe {
  mixer_kind mixer = mixer_kind::gqa;
  ffn_kind ffn = ffn_kind::moe;
  uint32_t ffn_size = 0;    ///< dense_size or expert_size.
  bool rope = true;         ///< false: no position enters queries and keys.
  bool temperature = false; ///< Queries grow with the position.
  uint32_t window = 0;      ///< Tokens seen, itself included; 0: all.
  uint32_t chunk = 0;       ///< Only tokens of the same chunk; 0: all.

  bool operator==(const layer_recipe&) const = default;
};

struct model_config {
  std::string family;       ///< For people; code must not branch on it.
  std::string architecture; ///< config.json: architectures[0].
  /// Before the names of the family's tensors: the text model may be a part of
  /// a larger checkpoint.
  std::string tensor_prefix;
  uint32_t hidden_size = 0;
  uint32_t num_layers = 0;
  uint32_t vocab_size = 0;
  uint32_t max_positions = 0;   ///< Of a sequence.
  bool tied_embeddings = false; ///< The output head is the embedding.
  norm_config norm;
  /// Norms after the mixer and after the feed-forward too, before each sum.
  bool sandwich_norms = false;
  double embedding_multiplier = 1; ///< Times the embedding.
  double residual_multiplier = 1;  ///< Times what is added to the residual.
  double logits_divisor = 1;
  bool head_bias = false; ///< The output head has a bias.
  attention_config attention;
  mla_config mla;
  short_conv_config short_conv;
  gated_delta_config gated_delta;
  router_config router;
  ffn_config ffn;
  std::vector<layer_recipe> layers; ///< [num_layers]

  /// Number of layers whose feed-forward is a mixture of experts.
  uint32_t moe_layers() const;
};

class family_catalog;

/// Reads FOLDER/config.json and chooses the family by `architectures`, then by
/// `model_type`. Fails with not_found, io, bad_format, invalid_argument (a
/// number out of range or inconsistent) or unsupported (a setting or family
/// that is not built; the message lists the known families).
result<model_config> read_model_config(const std::string& folder,
                                       const family_catalog& families);

/// The same for text; `name` stands for the file in messages.
result<model_config> parse_model_config(std::string_view json,
                                        const std::string& name,
                                        const family_catalog& families);

} // namespace troupe
