// Cuts a batch into tiles and runs them.
#include "kernels/attention.hpp"

#include "kernels/attention_tile.hpp"

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

std::vector<row_range> cut_rows(std::span<const attention_row> rows,
                                size_t rows_max) {
  std::vector<row_range> runs;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!runs.empty() && runs.back().count < rows_max &&
        same_sequence(rows[r - 1], rows[r]))
      ++runs.back().count;
    else
      runs.push_back({r, 1});
  }
  return runs;
}

/// Query heads of a tile. The heads of a latent are many and share one key:
/// few rows are spread over the lanes by heads. Who computes which head changes
/// no bit.
size_t heads_per_tile(const attention_options& options, size_t rows,
                      const lanes& pool) {
  /// Fewer do not fill the vectors that run across heads.
  constexpr size_t heads_min = 16;
  /// Still faster than a lane without work.
  constexpr size_t heads_half = 8;
  const size_t group = options.heads / options.layout.kv_heads;
  if (options.layout.values == kv_values::own)
    return group;
  size_t heads = std::min(group, queries_per_tile);
  const auto tiles = [&] { return rows * options.heads / heads; };
  while (tiles() < 2 * pool.count() && heads >= 2 * heads_min)
    heads = (heads / 2 + heads_min - 1) / heads_min * heads_min;
  if (tiles() < pool.count() && heads > heads_half)
    heads = heads_half;
  return heads;
}

void check(const attention_options& options,
           std::span<const attention_row> rows, matrix_view<const float> q,
           const output_view& out) {
  const kv_layout& layout = options.layout;
  TROUPE_ASSERT(layout.type == dtype::bf16 || layout.type == dtype::f32);
  TROUPE_ASSERT(out.type == dtype::bf16 || out.type == dtype::f32);
  TROUPE_ASSERT(layout.kv_heads > 0 && layout.head_dim > 0);
  TROUPE_ASSERT(layout.values == kv_values::own ||
                layout.value_size() <= layout.head_dim);
  TROUPE_ASSERT(options.heads > 0 && options.heads % layout.kv_heads == 0);
  TROUPE_ASSERT(options.sinks.empty() || options.sinks.size() == options.heads);
  TROUPE_ASSERT(q.rows == rows.size() && out.rows == rows.size());
  TROUPE_ASSERT(q.cols == options.heads * layout.head_dim);
  TROUPE_ASSERT(out.cols == options.heads * layout.value_size());
  for (const attention_row& row : rows)
    TROUPE_ASSERT(row.position / kv_block_tokens < row.cache.blocks.size());
}

} // namespace

void tile_state::start() const {
  const size_t dim = layout().head_dim;
  const auto& options = tile.options;
  for (size_t i = 0; i < tile.queries(); ++i) {
    const size_t head = tile.first_head + i % tile.heads;
    const float* q = tile.q.row(i / tile.heads) + head * dim;
    for (size_t d = 0; d < dim; ++d)
      queries[i * dim + d] = q[d] * options.scale;
    const bool sink = !options.sinks.empty();
    maxima[i] =
      sink ? options.sinks[head] : -std::numeric_limits<float>::infinity();
    sums[i] = sink ? 1.0f : 0.0f;
  }
}

void tile_state::enter_block(size_t index) {
  for (size_t r = 0; r < tile.rows.size(); ++r)
    std::fill_n(ranges + r * tile.heads, tile.heads,
                visible_in_block(tile.options, tile.rows[r].position, index));
  const std::span<const visible_range> all(ranges, tile.queries());
  any = seen_by_any(all);
  alike = any == seen_by_all(all);
}

block_range blocks_of(const attention_tile& tile) {
  block_range all;
  for (const attention_row& row : tile.rows) {
    const size_t first = tile.options.first_visible(row.position);
    all.first = std::min(all.first, first / kv_block_tokens);
    all.end = std::max(all.end, row.position / kv_block_tokens + 1);
  }
  return all;
}

void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out, lanes& pool) {
  check(options, rows, q, out);
  const kv_layout& layout = options.layout;
  const auto kernel = layout.values == kv_values::own
                        ? grouped_attention(options.isa)
                        : latent_attention(options.isa);
  const size_t group = options.heads / layout.kv_heads;
  const size_t heads = heads_per_tile(options, rows.size(), pool);
  const size_t parts = (group + heads - 1) / heads; // of a KV head's group
  const auto runs =
    cut_rows(rows, std::max<size_t>(1, queries_per_tile / heads));
  const size_t per_run = layout.kv_heads * parts;
  const size_t tasks = runs.size() * per_run;
  pool.parallel_for(tasks, [&](size_t task, size_t lane) {
    // Late rows see most: the longest tasks start first.
    const row_range& run = runs[(tasks - 1 - task) / per_run];
    const size_t part = task % parts;
    const size_t kv_head = task % per_run / parts;
    const attention_tile tile{
      options,
      rows.subspan(run.first, run.count),
      kv_head * group + part * heads,
      std::min(heads, group - part * heads),
      {q.row(run.first), run.count, q.cols, q.stride},
      {out.row(run.first), out.type, run.count, out.cols, out.stride}};
    kernel.run(tile, pool.task_scratch(lane, kernel.bytes_needed(tile)));
  });
}

} // namespace troupe::kernels
