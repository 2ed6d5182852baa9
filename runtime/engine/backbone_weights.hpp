// Everything of a model but the experts of its MoE layers, packed for the
// kernels: embedding, token mixers, norms, routers, shared experts, dense
// feed-forward layers and the output head. Immutable and shared by all forward
// passes.
#pragma once

#include "kernels/lanes.hpp"
#include "kernels/matmul.hpp"
#include "runtime/engine/layer_weights.hpp"
#include "runtime/engine/packed_images.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/opened_model.hpp"

#include <memory>
#include <vector>

namespace troupe {

struct backbone_weights {
  model_config config;
  kernels::compute_options options;
  kernels::weight_view embedding; ///< [V, H] as stored: bf16, or f32
  std::vector<layer_weights> layers;
  norm_weights final_norm;      ///< [H]
  kernels::packed_weight head;  ///< [V, H]
  std::vector<float> head_bias; ///< [V] or empty

  /// Keeps the memory alive in which all of the matrices lie.
  std::shared_ptr<const void> memory;

  /// Bytes of weights held.
  uint64_t size_bytes() const;
};

/// The MoE layers of a recipe, ascending.
std::vector<layer_index> moe_layers_of(const model_config& config);

/// Loads the backbone on the lanes: from the cache's image, else it is read,
/// packed and put there. Errors: io, bad_format, unsupported.
result<std::shared_ptr<const backbone_weights>>
load_backbone(packed_images& images, kernels::lanes& pool);

} // namespace troupe
