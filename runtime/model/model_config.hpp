// The resolved recipe of one model: every number the forward pass needs, read
// from config.json through a family file and checked. One nested struct per
// operation; code branches on these properties and never on a family's name.
#pragma once

#include "kernels/activation.hpp"
#include "kernels/rope.hpp"
#include "kernels/router.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class attention_kind { gqa };
enum class ffn_kind { dense, moe };

struct rope_config {
  double theta = 10000.0;
  kernels::rope_pairs pairs = kernels::rope_pairs::half_split;
  uint32_t rotary_dim = 0; ///< First dims of each head that rotate; even.
};

struct attention_config {
  attention_kind kind = attention_kind::gqa;
  uint32_t heads = 0;
  uint32_t kv_heads = 0; ///< Divides `heads`.
  uint32_t head_dim = 0;
  bool qk_norm = false;     ///< RMS norm of each query and key head.
  bool qkv_bias = false;    ///< q, k and v projections have a bias.
  bool output_bias = false; ///< The output projection has a bias.
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

struct router_config {
  uint32_t num_experts = 0;
  uint32_t top_k = 0; ///< 1 <= top_k <= num_experts.
  kernels::router_score score = kernels::router_score::softmax;
  kernels::router_normalize normalize = kernels::router_normalize::no;
};

/// The gated feed-forward of dense layers and of experts:
/// down(activation(gate(x)) * up(x)).
struct ffn_config {
  kernels::activation_options activation;
  uint32_t dense_size = 0;  ///< Intermediate size of dense layers.
  uint32_t expert_size = 0; ///< Intermediate size of one expert.
};

/// What one decoder layer is made of.
struct layer_recipe {
  attention_kind attention = attention_kind::gqa;
  ffn_kind ffn = ffn_kind::moe;
  uint32_t ffn_size = 0; ///< dense_size or expert_size.
};

struct model_config {
  std::string family;       ///< For people; code must not branch on it.
  std::string architecture; ///< config.json: architectures[0].
  uint32_t hidden_size = 0;
  uint32_t num_layers = 0;
  uint32_t vocab_size = 0;
  uint32_t max_positions = 0;
  double norm_eps = 1e-6;
  bool tied_embeddings = false; ///< The output head is the embedding.
  attention_config attention;
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
