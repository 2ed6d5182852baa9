// Runs experts over pairs: the one function behind local experts and remote
// shards, so that a pair has the same bits wherever it runs.
#pragma once

#include "kernels/moe_ffn.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace troupe {

/// One row to one expert.
struct expert_pair {
  uint32_t row = 0; ///< of the rows buffer
  expert_id expert;
  /// The row is multiplied by it, and rounded again, before the expert sees it;
  /// most models have 1.
  float input_weight = 1.0F;
};

/// The packed weights of an expert of one layer; never null for an expert that
/// occurs in the pairs.
using expert_lookup = std::function<const kernels::expert_ffn*(expert_id)>;

/// Computes output i from pair i. `rows` [n, H] in the type of the mode; `out`
/// [pairs, H] in the reply type. Checks nothing: the caller has checked rows
/// and experts. @pre Every row < rows.rows and every expert resolves.
void run_expert_batch(kernels::activation_view rows,
                      std::span<const expert_pair> pairs,
                      const expert_lookup& experts, kernels::output_view out,
                      kernels::lanes& pool);

} // namespace troupe
