// Attention with values of their own: per tile and block, scores = q k, one
// softmax step per query, outputs += weights * v.
#include "kernels/attention_tile.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/grouped_attention.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

struct grouped_state : tile_state {
  float* outputs; ///< [queries][value_stride], running sums
  float* keys;    ///< [head_dim][64], expanded from bf16
  float* values;  ///< [64][value_stride], expanded from bf16

  grouped_state(const attention_tile& of, scratch_layout& memory)
    : tile_state(of, memory),
      outputs(memory.take<float>(of.queries() * layout().value_stride())),
      keys(memory.take<float>(layout().head_dim * kv_block_tokens)),
      values(memory.take<float>(kv_block_tokens * layout().value_stride())) {
  }
};

/// Keys and values of one block and head as the products read them.
template <class T>
struct block_view {
  key_block<T> keys;
  const T* values; ///< [64][value_stride]
};

template <class T>
void weigh(const grouped_state& s, const block_view<T>& block,
           const query_run& run) {
  const f32_tag d;
  const size_t stride = s.layout().value_stride();
  weigh_positions(s, block.keys, run, [&](size_t query, float factor) {
    float* output = s.outputs + query * stride;
    if (factor != 1.0f)
      for (size_t at = 0; at < stride; at += width)
        store_row(hn::Mul(load_row(output + at), hn::Set(d, factor)),
                  output + at);
  });
}

/// outputs += weights * values for the same queries. Positions that all of them
/// see go together; those before and after one query at a time, in order.
template <class T>
void add_values(const grouped_state& s, const block_view<T>& block,
                const query_run& run) {
  const size_t stride = s.layout().value_stride();
  const visible_range* ranges = s.ranges + run.first;
  const visible_range all = s.seen_by_all_of(run.first, run.count);
  const auto add = [&](const query_run& queries, size_t first, size_t end) {
    if (first >= end)
      return;
    const product<T> p{s.scores + queries.first * kv_block_tokens + first,
                       kv_block_tokens,
                       block.values + first * stride,
                       stride,
                       s.outputs + queries.first * stride,
                       stride,
                       end - first};
    multiply(p, queries.count, stride);
  };
  if (s.alike)
    return add(run, all.first, all.end);
  for (size_t i = 0; i < run.count; ++i)
    add({run.first + i, 1}, ranges[i].first,
        all.empty() ? ranges[i].end : all.first);
  if (all.empty())
    return;
  add(run, all.first, all.end);
  for (size_t i = 0; i < run.count; ++i)
    add({run.first + i, 1}, all.end, ranges[i].end);
}

/// Keys for all queries, then values: one of the two at a time fits in L1.
template <class T>
void attend_block(const grouped_state& s, const block_view<T>& block) {
  for (const auto step : {&weigh<T>, &add_values<T>})
    for (size_t first = 0; first < s.tile.queries(); first += tile_rows) {
      const query_run run{first, std::min(tile_rows, s.tile.queries() - first)};
      if (!s.seen_by_any_of(first, run.count).empty())
        step(s, block, run);
    }
}

void write_outputs(const grouped_state& s) {
  const f32_tag d;
  const attention_tile& tile = s.tile;
  const size_t size = s.layout().value_size();
  const auto write = [&](const float* x, f32_vec sum, auto* y) {
    size_t at = 0;
    for (; at + width <= size; at += width)
      store_row(hn::Div(load_row(x + at), sum), y + at);
    if (at < size)
      store_tail(hn::Div(load_row(x + at), sum), y + at, size - at);
  };
  for (size_t i = 0; i < tile.queries(); ++i) {
    const float* x = s.outputs + i * s.layout().value_stride();
    const f32_vec sum = hn::Set(d, s.sums[i]);
    const size_t at = (tile.first_head + i % tile.heads) * size;
    std::byte* y = tile.out.row(i / tile.heads);
    if (tile.out.type == dtype::f32)
      write(x, sum, reinterpret_cast<float*>(y) + at);
    else
      write(x, sum, reinterpret_cast<bf16*>(y) + at);
  }
}

/// Stored keys and values of a block, as elements of the cache's type.
template <class T>
block_view<T> stored_block(const grouped_state& s, const std::byte* block) {
  const kv_layout& layout = s.layout();
  const size_t head = s.tile.kv_head();
  const auto* values =
    reinterpret_cast<const T*>(block + layout.value_offset(head));
  // A decode row waits for memory: values are asked for while keys are read.
  return {{reinterpret_cast<const T*>(block + layout.key_offset(head)), values,
           ahead_step<T>},
          values};
}

size_t grouped_bytes(const attention_tile& tile) {
  scratch_layout count(nullptr);
  const grouped_state counted(tile, count);
  return count.bytes();
}

void attend_grouped(const attention_tile& tile, std::byte* memory) {
  /// From here on expanding a bf16 block once is cheaper than on every read.
  constexpr size_t expand_from_queries = tile_rows + 1;
  scratch_layout arrays(memory);
  grouped_state s(tile, arrays);
  const kv_layout& layout = s.layout();
  const size_t stride = layout.value_stride();
  s.start();
  std::fill_n(s.outputs, tile.queries() * stride, 0.0f);
  const kv_blocks& cache = tile.rows[0].cache;
  const block_range blocks = blocks_of(tile);
  for (size_t index = blocks.first; index < blocks.end; ++index) {
    s.enter_block(index);
    if (s.any.empty())
      continue;
    if (layout.type == dtype::f32) {
      attend_block(s, stored_block<float>(s, cache.block(index)));
      continue;
    }
    const auto stored = stored_block<bf16>(s, cache.block(index));
    if (tile.queries() < expand_from_queries) {
      attend_block(s, stored);
      continue;
    }
    const size_t from = s.any.first * stride;
    expand(stored.keys.keys, s.keys, layout.head_dim * kv_block_tokens);
    expand(stored.values + from, s.values + from,
           (s.any.end - s.any.first) * stride);
    attend_block(s, block_view<float>{{s.keys}, s.values});
  }
  write_outputs(s);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace troupe::kernels {

attention_kernel grouped_attention(isa level) {
  return {TROUPE_SIMD_PICK(level, grouped_bytes),
          TROUPE_SIMD_PICK(level, attend_grouped)};
}

} // namespace troupe::kernels

#endif
