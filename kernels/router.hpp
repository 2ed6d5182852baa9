// From a router's logits to the experts of each row and their weights.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// What a logit becomes before the best experts are chosen.
enum class router_score : uint8_t {
  softmax,          ///< Over all experts (Qwen, Mixtral, OLMoE).
  softmax_selected, ///< Logits choose; softmax over the chosen (gpt-oss).
  sigmoid,          ///< Each on its own (Llama 4, DeepSeek).
};

/// Whether the chosen scores are divided by their sum.
enum class router_normalize : uint8_t { no, sum_to_one };

struct router_options {
  size_t top_k = 1;
  router_score score = router_score::softmax;
  router_normalize normalize = router_normalize::sum_to_one;
  float scale = 1.0f; ///< Times every weight, at the end.
  /// Per expert, or empty: added to the logits (load skew on purpose).
  std::span<const float> logit_bias = {};
  /// Per expert, or empty: added to the scores for the choice only.
  std::span<const float> selection_bias = {};
  kernels::isa isa = best_isa();
};

/// Chooses the `top_k` best experts of each row, best first, equal ones by
/// lower id. logits: [rows, experts]; ids, weights: [rows, top_k]. Ids are
/// always distinct and valid; NaN logits give NaN weights.
void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights, lanes& pool);

} // namespace troupe::kernels
