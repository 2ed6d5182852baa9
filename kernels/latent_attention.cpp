// Attention whose values are the leading elements of the keys: many query heads
// and one stored vector per position (latent attention, absorbed form).
//
// The block is expanded to f32 once and serves both products. Scores run across
// positions, as ever. The sums over positions run across queries:
//
//   outputs [value_size][columns] += keys [value_size][64] * weights
//   [64][columns]
//
// so the transposed keys are read as they are, and every output is still one
// chain in order of the positions. Column r * heads_padded + h is head h of row
// r of the tile.
#include "kernels/attention_tile.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/latent_attention.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

struct latent_state : tile_state {
  size_t heads_padded; ///< Columns of a row.
  size_t columns;
  float* outputs; ///< [value_size][columns], running sums
  float* weights; ///< [64][columns]
  float* factors; ///< [columns], of this block
  float* keys;    ///< [head_dim][64], expanded from bf16

  latent_state(const attention_tile& of, scratch_layout& memory)
    : tile_state(of, memory), heads_padded((of.heads + 15) / 16 * 16),
      columns(of.rows.size() * heads_padded),
      outputs(memory.take<float>(layout().value_size() * columns)),
      weights(memory.take<float>(kv_block_tokens * columns)),
      factors(memory.take<float>(columns)),
      keys(memory.take<float>(layout().head_dim * kv_block_tokens)) {
  }

  size_t column(size_t query) const {
    return query / tile.heads * heads_padded + query % tile.heads;
  }
};

/// Scores, weights and factors of all queries.
template <class T>
void weigh(const latent_state& s, const key_block<T>& block) {
  std::fill_n(s.factors, s.columns, 1.0f);
  key_block<T> next = block;
  for (size_t first = 0; first < s.tile.queries(); first += tile_rows) {
    const query_run run{first, std::min(tile_rows, s.tile.queries() - first)};
    if (s.seen_by_any_of(first, run.count).empty())
      continue;
    weigh_positions(s, next, run, [&](size_t query, float factor) {
      const size_t column = s.column(query);
      s.factors[column] = factor;
      for (size_t p = 0; p < kv_block_tokens; ++p)
        s.weights[p * s.columns + column] =
          s.scores[query * kv_block_tokens + p];
    });
    next.ahead_step = 0; // Asking once is enough.
  }
}

/// outputs *= factors
void rescale(const latent_state& s) {
  const bool same = std::all_of(s.factors, s.factors + s.columns,
                                [](float factor) { return factor == 1.0f; });
  if (same)
    return;
  for (size_t d = 0; d < s.layout().value_size(); ++d)
    for (size_t at = 0; at < s.columns; at += width) {
      float* output = s.outputs + d * s.columns + at;
      store_row(hn::Mul(load_row(output), load_row(s.factors + at)), output);
    }
}

/// outputs += keys * weights. Positions that all rows see go together; those
/// before and after one row at a time, in order.
void add_values(const latent_state& s, const float* keys) {
  const size_t heads = s.tile.heads;
  const visible_range all = s.seen_by_all_of(0, s.tile.queries());
  const auto add = [&](size_t column, size_t count, visible_range seen) {
    if (seen.first >= seen.end)
      return;
    for (size_t d = 0; d < s.layout().value_size(); d += tile_rows) {
      const product<float> p{keys + d * kv_block_tokens + seen.first,
                             kv_block_tokens,
                             s.weights + seen.first * s.columns + column,
                             s.columns,
                             s.outputs + d * s.columns + column,
                             s.columns,
                             seen.end - seen.first};
      multiply(p, std::min(tile_rows, s.layout().value_size() - d), count);
    }
  };
  const auto add_row = [&](size_t row, size_t first, size_t end) {
    add(row * s.heads_padded, s.heads_padded, {first, end});
  };
  for (size_t r = 0; r < s.tile.rows.size(); ++r) {
    const visible_range seen = s.ranges[r * heads];
    add_row(r, seen.first, all.empty() ? seen.end : all.first);
  }
  if (all.empty())
    return;
  add(0, s.columns, all);
  for (size_t r = 0; r < s.tile.rows.size(); ++r)
    add_row(r, all.end, s.ranges[r * heads].end);
}

/// Divides by the sums of the weights and turns columns back into rows.
template <class T>
void write_outputs(const latent_state& s) {
  /// Elements of every column at a time: what they lie in fits in L1.
  constexpr size_t strip = 16;
  static_assert(strip % width == 0);
  const f32_tag d;
  const size_t size = s.layout().value_size();
  for (size_t first = 0; first < size; first += strip) {
    const size_t count = std::min(strip, size - first);
    for (size_t i = 0; i < s.tile.queries(); ++i) {
      const float* x = s.outputs + first * s.columns + s.column(i);
      const f32_vec sum = hn::Set(d, s.sums[i]);
      float values[strip] = {};
      T rounded[strip];
      for (size_t at = 0; at < count; ++at)
        values[at] = x[at * s.columns];
      for (size_t at = 0; at < strip; at += width)
        store_row(hn::Div(load_row(values + at), sum), rounded + at);
      const size_t head = s.tile.first_head + i % s.tile.heads;
      auto* row = reinterpret_cast<T*>(s.tile.out.row(i / s.tile.heads));
      std::copy_n(rounded, count, row + head * size + first);
    }
  }
}

size_t latent_bytes(const attention_tile& tile) {
  scratch_layout count(nullptr);
  const latent_state counted(tile, count);
  return count.bytes();
}

void attend_latent(const attention_tile& tile, std::byte* memory) {
  scratch_layout arrays(memory);
  latent_state s(tile, arrays);
  const kv_layout& layout = s.layout();
  const size_t elements = layout.head_dim * kv_block_tokens;
  s.start();
  std::fill_n(s.outputs, layout.value_size() * s.columns, 0.0f);
  // Columns that are no query are computed and never read.
  std::fill_n(s.weights, kv_block_tokens * s.columns, 0.0f);
  const kv_blocks& cache = tile.rows[0].cache;
  const size_t offset = layout.key_offset(tile.kv_head());
  const block_range blocks = blocks_of(tile);
  for (size_t index = blocks.first; index < blocks.end; ++index) {
    s.enter_block(index);
    if (s.any.empty())
      continue;
    const std::byte* block = cache.block(index) + offset;
    const float* keys = s.keys;
    if (layout.type == dtype::f32)
      keys = reinterpret_cast<const float*>(block);
    else
      expand(reinterpret_cast<const bf16*>(block), s.keys, elements);
    key_block<float> view{keys};
    if (index + 1 < blocks.end) {
      view.ahead = cache.block(index + 1) + offset;
      view.ahead_step =
        layout.type == dtype::f32 ? ahead_step<float> : ahead_step<bf16>;
    }
    weigh(s, view);
    rescale(s);
    add_values(s, keys);
  }
  if (tile.out.type == dtype::f32)
    write_outputs<float>(s);
  else
    write_outputs<bf16>(s);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace troupe::kernels {

attention_kernel latent_attention(isa level) {
  return {TROUPE_SIMD_PICK(level, latent_bytes),
          TROUPE_SIMD_PICK(level, attend_latent)};
}

} // namespace troupe::kernels

#endif
