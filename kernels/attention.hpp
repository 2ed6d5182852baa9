// Causal grouped-query attention over the paged KV cache.
// A row's result depends on its own query and on the cache up to its position
// only, whatever the batch, the chunking, the ISA and the lanes:
//   score(p)  = sum over d in order, one fused multiply-add each, of
//               (q[d] * scale) * k[p][d]
//   per block of 64 positions, from position 0 on:
//     m' = max(m, scores);  c = e^(m - m');  w(p) = e^(score(p) - m')
//     l = l * c + sum w     (64 partial sums, a tree of halves)
//     o = o * c, then o += w(p) * v[p] in order of p, fused
//   result = o / l
#pragma once

#include "kernels/isa.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <span>

namespace troupe::kernels {

struct attention_options {
  kv_layout layout;
  size_t heads = 0;   ///< Query heads; a multiple of layout.kv_heads.
  float scale = 1.0f; ///< Usually 1 / sqrt(head_dim).
  kernels::isa isa = best_isa();
};

/// Attends each row to the positions 0 ... row.position of its own cache,
/// which must hold them all (`store_kv` first, for the rows of this batch too).
/// q: [rows.size(), heads * head_dim]; out: the same shape, f32 or bf16.
/// Rows of one sequence share work when they are neighbours in `rows`.
void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out, lanes& pool);

} // namespace troupe::kernels
