// Attention over cache blocks: per tile and block, scores = q k, one softmax
// step per query, outputs += weights * v.
#include "kernels/attention.hpp"

#include "kernels/attention_tile.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"
#include <hwy/foreach_target.h>

#include "kernels/attention-inl.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// Keys and values of one block and head as the products read them.
template <class T>
struct block_view {
  const T* keys;                   ///< [head_dim][64]
  const T* values;                 ///< [64][value_stride]
  const void* next_keys = nullptr; ///< Of the next block, to be read soon.

  /// Bytes between two prefetches, so that one sweep of two-vector columns
  /// over a block asks for a block.
  size_t ahead_step() const {
    return next_keys == nullptr ? 0 : 2 * width * sizeof(T);
  }
};

void expand(const bf16* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(load_row(x + i), y + i);
}

void load_queries(const attention_tile& tile, const attention_scratch& s) {
  const kv_layout& layout = tile.options.layout;
  const size_t group = tile.group();
  for (size_t i = 0; i < tile.queries(); ++i) {
    const size_t head = tile.kv_head * group + i % group;
    const float* q = tile.q.row(i / group) + head * layout.head_dim;
    for (size_t d = 0; d < layout.head_dim; ++d)
      s.queries[i * layout.head_dim + d] = q[d] * tile.options.scale;
    s.maxima[i] = -std::numeric_limits<float>::infinity();
    s.sums[i] = 0.0f;
  }
  std::fill_n(s.outputs, tile.queries() * layout.value_stride(), 0.0f);
}

/// Scores and weights of queries [first, first + count) in one block.
template <class T>
void weigh_positions(const attention_tile& tile, const attention_scratch& s,
                     const block_view<T>& block, size_t first, size_t count) {
  const kv_layout& layout = tile.options.layout;
  const size_t* limits = s.limits + first;
  const size_t columns = *std::max_element(limits, limits + count);
  float* scores = s.scores + first * kv_block_tokens;
  std::fill_n(scores, count * kv_block_tokens, 0.0f);
  const product<T> p{s.queries + first * layout.head_dim,
                     layout.head_dim,
                     block.keys,
                     kv_block_tokens,
                     scores,
                     kv_block_tokens,
                     layout.head_dim,
                     block.values,
                     block.ahead_step()};
  multiply(p, count, columns);
  const f32_tag d;
  const size_t stride = layout.value_stride();
  for (size_t i = 0; i < count; ++i) {
    if (limits[i] == 0)
      continue;
    const float factor = softmax_step(scores + i * kv_block_tokens, limits[i],
                                      s.maxima[first + i], s.sums[first + i]);
    float* output = s.outputs + (first + i) * stride;
    if (factor != 1.0f)
      for (size_t at = 0; at < stride; at += width)
        store_row(hn::Mul(load_row(output + at), hn::Set(d, factor)),
                  output + at);
  }
}

/// outputs += weights * values for the same queries. Positions that all of them
/// see go first, together; the rest one query at a time, in the same order.
template <class T>
void add_values(const attention_tile& tile, const attention_scratch& s,
                const block_view<T>& block, size_t first, size_t count) {
  const size_t stride = tile.options.layout.value_stride();
  const size_t* limits = s.limits + first;
  const size_t common = *std::min_element(limits, limits + count);
  product<T> p{
    s.scores + first * kv_block_tokens, kv_block_tokens, block.values, stride,
    s.outputs + first * stride,         stride,          common};
  multiply(p, count, stride);
  for (size_t i = 0; i < count; ++i) {
    if (limits[i] == common)
      continue;
    product<T> rest = p;
    rest.a += i * kv_block_tokens + common;
    rest.b += common * stride;
    rest.c += i * stride;
    rest.depth = limits[i] - common;
    multiply(rest, 1, stride);
  }
}

/// Keys for all queries, then values: one of the two at a time fits in L1.
template <class T>
void attend_block(const attention_tile& tile, const attention_scratch& s,
                  const block_view<T>& block) {
  for (const auto step : {&weigh_positions<T>, &add_values<T>})
    for (size_t first = 0; first < tile.queries(); first += tile_rows) {
      const size_t count = std::min(tile_rows, tile.queries() - first);
      const size_t* limits = s.limits + first;
      if (*std::max_element(limits, limits + count) > 0)
        step(tile, s, block, first, count);
    }
}

/// Sets the limits of block `index` and returns the largest.
size_t find_limits(const attention_tile& tile, const attention_scratch& s,
                   size_t index) {
  size_t largest = 0;
  const size_t base = index * kv_block_tokens;
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    const size_t end = tile.rows[r].position + 1;
    const size_t limit = end > base ? std::min(kv_block_tokens, end - base) : 0;
    std::fill_n(s.limits + r * tile.group(), tile.group(), limit);
    largest = std::max(largest, limit);
  }
  return largest;
}

void write_outputs(const attention_tile& tile, const attention_scratch& s) {
  const f32_tag d;
  const kv_layout& layout = tile.options.layout;
  const size_t group = tile.group();
  const auto write = [&](const float* x, f32_vec sum, auto* y) {
    size_t at = 0;
    for (; at + width <= layout.head_dim; at += width)
      store_row(hn::Div(load_row(x + at), sum), y + at);
    if (at < layout.head_dim)
      store_tail(hn::Div(load_row(x + at), sum), y + at, layout.head_dim - at);
  };
  for (size_t i = 0; i < tile.queries(); ++i) {
    const float* x = s.outputs + i * layout.value_stride();
    const f32_vec sum = hn::Set(d, s.sums[i]);
    const size_t at = (tile.kv_head * group + i % group) * layout.head_dim;
    std::byte* y = tile.out.row(i / group);
    if (tile.out.type == dtype::f32)
      write(x, sum, reinterpret_cast<float*>(y) + at);
    else
      write(x, sum, reinterpret_cast<bf16*>(y) + at);
  }
}

/// Runs a whole tile.
void attend_tile(const attention_tile& tile, const attention_scratch& s) {
  /// From here on expanding a bf16 block once is cheaper than on every read.
  constexpr size_t expand_from_queries = tile_rows + 1;
  const kv_layout& layout = tile.options.layout;
  load_queries(tile, s);
  const kv_blocks& cache = tile.rows[0].cache;
  for (size_t index = 0; index < cache.blocks.size(); ++index) {
    const size_t limit = find_limits(tile, s, index);
    if (limit == 0)
      break;
    const std::byte* block = cache.block(index);
    const std::byte* keys = block + layout.key_offset(tile.kv_head);
    const std::byte* values = block + layout.value_offset(tile.kv_head);
    const std::byte* next =
      index + 1 < cache.blocks.size()
        ? cache.block(index + 1) + layout.key_offset(tile.kv_head)
        : keys;
    if (layout.type == dtype::f32) {
      attend_block(tile, s,
                   block_view<float>{reinterpret_cast<const float*>(keys),
                                     reinterpret_cast<const float*>(values),
                                     next});
      continue;
    }
    const block_view<bf16> stored{reinterpret_cast<const bf16*>(keys),
                                  reinterpret_cast<const bf16*>(values), next};
    if (tile.queries() < expand_from_queries) {
      attend_block(tile, s, stored);
      continue;
    }
    expand(stored.keys, s.keys, layout.head_dim * kv_block_tokens);
    expand(stored.values, s.values, limit * layout.value_stride());
    attend_block(tile, s, block_view<float>{s.keys, s.values});
  }
  write_outputs(tile, s);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <vector>

namespace troupe::kernels {

namespace {

/// Queries of a tile: enough to pay for expanding a block, few enough for L2.
constexpr size_t queries_per_tile = 64;

/// A run of rows of one sequence.
struct row_range {
  size_t first = 0;
  size_t count = 0;
};

bool same_sequence(const attention_row& a, const attention_row& b) {
  return a.cache.blocks.data() == b.cache.blocks.data() &&
         a.cache.blocks.size() == b.cache.blocks.size() &&
         a.cache.offset == b.cache.offset;
}

std::vector<row_range> cut_tiles(std::span<const attention_row> rows,
                                 size_t rows_max) {
  std::vector<row_range> tiles;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!tiles.empty() && tiles.back().count < rows_max &&
        same_sequence(rows[r - 1], rows[r]))
      ++tiles.back().count;
    else
      tiles.push_back({r, 1});
  }
  return tiles;
}

void check(const attention_options& options,
           std::span<const attention_row> rows, matrix_view<const float> q,
           const output_view& out) {
  const kv_layout& layout = options.layout;
  TROUPE_ASSERT(layout.type == dtype::bf16 || layout.type == dtype::f32);
  TROUPE_ASSERT(out.type == dtype::bf16 || out.type == dtype::f32);
  TROUPE_ASSERT(layout.kv_heads > 0 && layout.head_dim > 0);
  TROUPE_ASSERT(options.heads > 0 && options.heads % layout.kv_heads == 0);
  TROUPE_ASSERT(q.rows == rows.size() && out.rows == rows.size());
  TROUPE_ASSERT(q.cols == options.heads * layout.head_dim);
  TROUPE_ASSERT(out.cols == q.cols);
  for (const attention_row& row : rows)
    TROUPE_ASSERT(row.position / kv_block_tokens < row.cache.blocks.size());
}

} // namespace

attention_scratch::attention_scratch(const kv_layout& layout,
                                     size_t queries_count, std::byte* memory) {
  const auto take = [&]<class T>(T*& array, size_t count) {
    if (memory != nullptr)
      array = reinterpret_cast<T*>(memory + bytes);
    bytes += (count * sizeof(T) + 63) / 64 * 64;
  };
  const size_t stride = layout.value_stride();
  take(queries, queries_count * layout.head_dim);
  take(outputs, queries_count * stride);
  take(scores, queries_count * kv_block_tokens);
  take(maxima, queries_count);
  take(sums, queries_count);
  take(limits, queries_count);
  take(keys, layout.head_dim * kv_block_tokens);
  take(values, kv_block_tokens * stride);
}

void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out, lanes& pool) {
  check(options, rows, q, out);
  const kv_layout& layout = options.layout;
  const size_t group = options.heads / layout.kv_heads;
  const auto attend = TROUPE_SIMD_PICK(options.isa, attend_tile);
  const auto tiles =
    cut_tiles(rows, std::max<size_t>(1, queries_per_tile / group));
  const size_t tasks = tiles.size() * layout.kv_heads;
  pool.parallel_for(tasks, [&](size_t task, size_t lane) {
    // Late rows see most: the longest tasks start first.
    const row_range& range = tiles[(tasks - 1 - task) / layout.kv_heads];
    const attention_tile tile{
      options,
      rows.subspan(range.first, range.count),
      task % layout.kv_heads,
      {q.row(range.first), range.count, q.cols, q.stride},
      {out.row(range.first), out.type, range.count, out.cols, out.stride}};
    const size_t bytes =
      attention_scratch(layout, tile.queries(), nullptr).bytes;
    attend(tile, {layout, tile.queries(), pool.task_scratch(lane, bytes)});
  });
}

} // namespace troupe::kernels

#endif
