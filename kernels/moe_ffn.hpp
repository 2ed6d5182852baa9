// Feed-forward layers of experts, many at once: for each pair of a row and an
// expert  y = down(f(gate(x), up(x))), rounded at fixed points: gate and up are
// f32, their product is rounded to the compute type, y to the reply type.
// A pair's bits depend on its row and its expert only. A dense feed-forward
// layer is one expert that gets every row.
#pragma once

#include "kernels/activation.hpp"
#include "kernels/lanes.hpp"
#include "kernels/matmul.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::kernels {

/// The weights of one expert. gate, up: [expert_size, hidden]; down: [hidden,
/// expert_size]. Biases are empty or as long as the weight's outputs.
struct expert_ffn {
  packed_weight gate;
  packed_weight up;
  packed_weight down;
  std::vector<float> gate_bias;
  std::vector<float> up_bias;
  std::vector<float> down_bias;
  activation_options activation;

  size_t size_bytes() const {
    return gate.size_bytes() + up.size_bytes() + down.size_bytes();
  }
};

/// The rows one expert computes.
struct expert_rows {
  const expert_ffn* expert = nullptr;
  std::span<const uint32_t> rows;  ///< Row of x, one per pair.
  std::span<const uint32_t> slots; ///< Row of y, one per pair.
  /// What each pair's row of x is multiplied by, and rounded again, before it
  /// is computed; empty: 1.
  std::span<const float> scales = {};
};

/// Computes all pairs of `work`. x: [tokens, hidden] in the compute type; y:
/// [at least the largest slot + 1, hidden] in the reply type (bf16 or f32). All
/// experts have the same shape and options. Slots are distinct.
void moe_ffn(std::span<const expert_rows> work, activation_view x,
             output_view y, lanes& pool);

/// One expert over all rows of `x`, row i to row i: dense layers.
void dense_ffn(const expert_ffn& ffn, activation_view x, output_view y,
               lanes& pool);

} // namespace troupe::kernels
