// What the forward pass asks for at a MoE layer, and the answer it takes.
#pragma once

#include "kernels/isa.hpp"
#include "runtime/engine/hidden_rows.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// "I cannot go on without the experts of this layer."
struct moe_request {
  pass_id pass;
  layer_index layer;
  /// Input of the experts [rows, H], already in the type of the numeric mode
  /// (bf16 or f32): what goes to the experts, here or on the wire, bit by bit.
  hidden_ptr rows;
  /// The router's scores before softmax, from the same rows. [rows, experts]
  std::vector<float> router_logits;
  /// Added to the scores for the choice only. [experts], or null.
  std::shared_ptr<const std::vector<float>> selection_bias;
};

/// The router's choice: pair p = row * top_k + j.
struct routing {
  uint32_t top_k = 0;
  std::vector<uint32_t> experts; ///< [rows, top_k], best first
  std::vector<float> weights;    ///< [rows, top_k]
  /// What each pair's row is multiplied by before its expert sees it; empty: 1.
  /// [rows, top_k]
  std::vector<float> input_weights;

  /// Of pair `p`.
  float input_weight(size_t p) const {
    return input_weights.empty() ? 1.0F : input_weights[p];
  }
  size_t pairs() const {
    return experts.size();
  }
};

/// The outputs of all pairs, wherever they lie: reply buffers are not copied.
struct moe_response {
  pass_id pass;
  layer_index layer;
  uint32_t top_k = 0;
  kernels::dtype type = kernels::dtype::bf16; ///< of the pairs' vectors
  std::vector<const std::byte*> pairs;        ///< [rows * top_k], each -> [H]
  std::vector<float> weights;                 ///< [rows * top_k]
  /// Keeps what `pairs` points into alive.
  std::vector<std::shared_ptr<const void>> owners;
};

/// The type experts get their rows in: bf16 in bf16 mode, f32 in f32 mode.
constexpr kernels::dtype row_type(kernels::numeric_mode mode) {
  return mode == kernels::numeric_mode::f32 ? kernels::dtype::f32
                                            : kernels::dtype::bf16;
}

} // namespace troupe
