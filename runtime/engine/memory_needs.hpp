// How much memory a model takes once packed: known from its recipe and headers,
// without reading a weight.
#pragma once

#include "kernels/isa.hpp"
#include "runtime/model/opened_model.hpp"

#include <cstdint>

namespace troupe {

struct memory_needs {
  uint64_t backbone_bytes = 0; ///< As `backbone_weights::size_bytes`.
  uint64_t expert_bytes = 0;   ///< Of one expert.
  uint64_t experts = 0;        ///< Of all MoE layers.
  uint64_t kv_bytes_per_token = 0;
  uint64_t state_bytes_per_sequence = 0; ///< Of recurrent layers.

  uint64_t experts_bytes() const {
    return expert_bytes * experts;
  }
};

memory_needs memory_needs_of(const opened_model& model,
                             kernels::compute_options options);

/// Bytes of weights read from memory to compute one token alone: the packed
/// backbone without the embedding (one row of it is looked up) and top_k
/// experts of each MoE layer.
uint64_t weight_bytes_per_token(const opened_model& model,
                                kernels::compute_options options);

/// Bytes that cross the network for one token, at most, with experts spread
/// over `nodes` nodes: its row once to each node hit and one vector per pair
/// back, in each MoE layer.
struct wire_bytes {
  uint64_t out = 0;
  uint64_t back = 0;
};

wire_bytes wire_bytes_per_token(const model_config& config, uint32_t nodes,
                                kernels::numeric_mode mode);

} // namespace troupe
