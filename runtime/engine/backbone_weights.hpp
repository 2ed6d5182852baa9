// Everything of a model but the experts of its MoE layers, packed for the
// kernels: embedding, attention, norms, routers, dense feed-forward layers and
// the output head. Immutable and shared by all forward passes.
#pragma once

#include "kernels/lanes.hpp"
#include "kernels/matmul.hpp"
#include "kernels/moe_ffn.hpp"
#include "runtime/engine/hidden_rows.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/opened_model.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// One decoder layer. Norm weights in f32.
struct layer_weights {
  std::vector<float> input_norm; ///< [H]
  kernels::packed_weight q;      ///< [heads * head_dim, H]
  kernels::packed_weight k;      ///< [kv_heads * head_dim, H]
  kernels::packed_weight v;      ///< [kv_heads * head_dim, H]
  kernels::packed_weight o;      ///< [H, heads * head_dim]
  std::vector<float> q_bias;     ///< [heads * head_dim] or empty
  std::vector<float> k_bias;
  std::vector<float> v_bias;
  std::vector<float> o_bias;     ///< [H] or empty
  std::vector<float> q_norm;     ///< [head_dim] or empty
  std::vector<float> k_norm;     ///< [head_dim] or empty
  std::vector<float> post_norm;  ///< [H], before the feed-forward
  kernels::packed_weight router; ///< [experts, H]; empty in dense layers
  std::optional<kernels::expert_ffn> dense; ///< dense layers only
};

struct backbone_weights {
  model_config config;
  kernels::compute_options options;
  hidden_rows embedding; ///< [V, H] as stored: bf16, or f32
  std::vector<layer_weights> layers;
  std::vector<float> final_norm; ///< [H]
  kernels::packed_weight head;   ///< [V, H]

  /// Bytes of weights held.
  uint64_t size_bytes() const;
};

/// The MoE layers of a recipe, ascending.
std::vector<layer_index> moe_layers_of(const model_config& config);

/// Reads and packs the backbone on the lanes. Errors: io, bad_format,
/// unsupported.
result<std::shared_ptr<const backbone_weights>>
load_backbone(const opened_model& model, kernels::compute_options options,
              kernels::lanes& pool);

} // namespace troupe
