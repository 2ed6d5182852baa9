// Causal attention over the paged KV cache: grouped queries, with window,
// chunks and sinks on request, and multi-head latent attention in its absorbed
// form (`kv_values::leading_keys`: one stored vector is key and value).
// A row's result depends on its own query and on the cache up to its position
// only, whatever the batch, the chunking, the ISA and the lanes:
//   score(p)  = sum over d in order, one fused multiply-add each, of
//               (q[d] * scale) * k[p][d]
//   m = -inf, l = 0, o = 0; with a sink: m = sink of the query head, l = 1
//   per block of 64 positions, from position 0 on, with a visible one:
//     m' = max(m, visible scores);  c = e^(m - m')
//     w(p) = e^(score(p) - m') where visible, else 0
//     l = l * c + sum w     (64 partial sums, a tree of halves)
//     o = o * c, then o += w(p) * v[p] in order of visible p, fused
//   result = o / l
// A block without a visible position would change nothing: it is not read.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <algorithm>
#include <span>

namespace troupe::kernels {

struct attention_options {
  kv_layout layout;
  size_t heads = 0;   ///< Query heads; a multiple of layout.kv_heads.
  float scale = 1.0f; ///< Usually 1 / sqrt(head_dim).
  kernels::isa isa = best_isa();
  size_t window = 0; ///< Positions a row sees, its own included; 0: all.
  size_t chunk = 0;  ///< A row sees its own p / chunk only; 0: all.
  std::span<const float> sinks{}; ///< [heads], or none.

  /// The first position that the row at `position` sees.
  size_t first_visible(size_t position) const {
    size_t first = chunk == 0 ? 0 : position / chunk * chunk;
    if (window != 0 && position >= window)
      first = std::max(first, position - window + 1);
    return first;
  }
};

/// Attends each row to the positions first_visible ... row.position of its own
/// cache, which must hold them all (`store_kv` first, for the rows of this
/// batch too). q: [rows.size(), heads * head_dim]; out: [rows.size(), heads *
/// value_size()], f32 or bf16. Rows of one sequence share work when they are
/// neighbours in `rows`.
void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out, lanes& pool);

} // namespace troupe::kernels
