// Whether a batch from outside can be computed: every id, length and shape is
// compared with the model before anything else looks at it. Pure.
#pragma once

#include "actors/messages.hpp"
#include "runtime/engine/expert_batch.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// What a receiver of batches can compute.
struct batch_limits {
  std::vector<layer_index> layers; ///< MoE layers served, ascending.
  uint32_t experts = 0;            ///< Experts per layer.
  uint32_t hidden_size = 0;
  kernels::dtype row_type = kernels::dtype::bf16;
  uint32_t rows_max = 4096;       ///< Rows of one batch.
  uint32_t pairs_max = 32 * 4096; ///< Pairs of one batch.
  uint64_t incarnation = 0;       ///< Own; batches for another one are stale.

  size_t row_bytes() const {
    return hidden_size * kernels::size_of(row_type);
  }
};

/// Checks header, pairs and first rows. Fails with protocol_mismatch (format),
/// invalid_argument (layer, expert, incarnation) or shape_mismatch.
result<void> check_batch(const expert_batch& x, const batch_limits& limits);

/// Checks that `x` continues a batch of `rows` rows of which `next` have come.
/// Fails with shape_mismatch.
result<void> check_piece(const expert_rows_piece& x, uint32_t rows,
                         uint32_t next, const batch_limits& limits);

} // namespace troupe
