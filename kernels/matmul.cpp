// matmul as tasks: (row chunk x block). A chunk of rows stays in the core's L2
// while blocks of the weight stream past it.
#include "kernels/matmul.hpp"

#include "kernels/bf16_rule.hpp"
#include "kernels/f32_tiles.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace troupe::kernels {

namespace {

/// Bytes of prepared rows that share L2 with the weights that pass by.
constexpr size_t chunk_bytes = size_t{1} << 20;
constexpr size_t chunk_rows_min = 64;
constexpr size_t chunk_rows_max = 256;
/// Rows that one task prepares.
constexpr size_t pack_rows = 32;
/// Below this, preparing rows on other lanes costs more than it saves.
constexpr size_t pack_alone_bytes = size_t{128} << 10;

void prepare_rows(const packed_rows& rows, activation_view x, lanes& pool) {
  const size_t bytes = rows.rows() * rows.inputs() * size_of(x.type);
  const auto prepare = [&](size_t task, size_t) {
    const size_t end = std::min((task + 1) * pack_rows, rows.rows());
    for (size_t row = task * pack_rows; row < end; ++row)
      rows.set_row(row, x, row);
  };
  const size_t tasks = (rows.rows() + pack_rows - 1) / pack_rows;
  if (bytes > pack_alone_bytes)
    return pool.parallel_for(tasks, prepare);
  for (size_t task = 0; task < tasks; ++task)
    prepare(task, 0);
}

/// All weights of a call, as one sequence of blocks.
struct block_sequence {
  std::span<const packed_weight* const> weights;
  std::span<const matrix_view<float>> ys;

  size_t size() const {
    size_t blocks = 0;
    for (const auto* w : weights)
      blocks += w->blocks();
    return blocks;
  }
  /// Which weight, and which of its blocks.
  std::pair<size_t, size_t> at(size_t index) const {
    size_t which = 0;
    while (index >= weights[which]->blocks())
      index -= weights[which++]->blocks();
    return {which, index};
  }
};

/// Memory of a task for the sums of `rows` rows of one block.
size_t sums_bytes(const packed_weight& w, size_t rows) {
  return rows * w.block_columns() * sizeof(float);
}

/// Computes one block into its place in `y`; a short last block by way of the
/// memory of the task, which is `sums_bytes` and what `task` has.
void compute_block(block_task task, const packed_rows& rows,
                   const matrix_view<float>& y) {
  const size_t width = task.w->block_columns();
  const size_t columns = task.w->columns_of(task.block);
  float* first = y.row(task.range.first) + task.block * width;
  auto* sums = reinterpret_cast<float*>(task.memory);
  task.memory += sums_bytes(*task.w, task.range.count);
  if (columns == width) {
    task.out = {first, task.range.count, width, y.stride};
    return multiply_block(task, rows);
  }
  task.out = {sums, task.range.count, width, width};
  multiply_block(task, rows);
  for (size_t row = 0; row < task.range.count; ++row)
    std::copy_n(task.out.row(row), columns, first + row * y.stride);
}

/// Computes blocks [begin, end) of the sequence for `range`.
void compute_run(const block_sequence& blocks, std::pair<size_t, size_t> run,
                 const packed_rows& rows, row_range range, std::byte* memory) {
  size_t before = SIZE_MAX;
  for (size_t i = run.first; i < run.second; ++i) {
    const auto [which, block] = blocks.at(i);
    const auto& w = *blocks.weights[which];
    block_task task{&w, block, range, {}, which == before, nullptr, memory};
    if (i + 1 < run.second && block + 1 < w.blocks())
      task.next = w.block_data(block + 1);
    compute_block(task, rows, blocks.ys[which]);
    before = which;
  }
}

} // namespace

size_t rows_per_task(size_t inputs, compute_options options) {
  const size_t row_bytes =
    packed_rows::bytes_needed(row_tile, inputs, options) / row_tile;
  const size_t rows = chunk_bytes / std::max<size_t>(row_bytes, 1);
  return std::clamp(rows / row_tile * row_tile, chunk_rows_min, chunk_rows_max);
}

size_t blocks_per_task(const packed_weight& w, size_t rows, size_t blocks,
                       const lanes& pool) {
  constexpr size_t run_bytes = size_t{1} << 20, tasks_per_slot = 8;
  if (rows <= bf16_rule::tile_rows)
    return 1;
  const size_t slots = std::max<size_t>(pool.count(), 1);
  const size_t fair = blocks / (slots * tasks_per_slot);
  return std::clamp<size_t>(fair, 1,
                            std::max(run_bytes / w.block_bytes(), size_t{1}));
}

void matmul(const packed_weight& w, activation_view x, matrix_view<float> y,
            lanes& pool) {
  const packed_weight* weight = &w;
  matmul(std::span(&weight, 1), x, std::span(&y, 1), pool);
}

void matmul(std::span<const packed_weight* const> weights, activation_view x,
            std::span<const matrix_view<float>> ys, lanes& pool) {
  TROUPE_ASSERT(!weights.empty() && weights.size() == ys.size());
  if (x.rows == 0)
    return;
  const auto options = weights.front()->options();
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& w = *weights[i];
    TROUPE_ASSERT(w.inputs() == x.cols && w.options().mode == options.mode &&
                  w.options().isa == options.isa);
    TROUPE_ASSERT(ys[i].rows == x.rows && ys[i].cols == w.outputs());
  }
  lanes::seat seat(pool);
  const packed_rows rows(
    seat.scratch(packed_rows::bytes_needed(x.rows, x.cols, options)), x.rows,
    x.cols, options);
  prepare_rows(rows, x, pool);
  const block_sequence sequence{weights, ys};
  const size_t blocks = sequence.size();
  const size_t chunk = rows_per_task(x.cols, options);
  const size_t chunks = (x.rows + chunk - 1) / chunk;
  const size_t run =
    blocks_per_task(*weights.front(), x.rows, chunks * blocks, pool);
  const size_t runs = (blocks + run - 1) / run;
  size_t expansion = 0;
  for (const auto* w : weights)
    expansion = std::max(expansion, w->expansion_bytes());
  pool.parallel_for(chunks * runs, [&](size_t task, size_t lane) {
    const size_t first = task / runs * chunk, begin = task % runs * run;
    const row_range range{first, std::min(chunk, x.rows - first)};
    const size_t bytes = sums_bytes(*weights.front(), range.count) + expansion;
    compute_run(sequence, {begin, std::min(begin + run, blocks)}, rows, range,
                pool.task_scratch(lane, bytes));
  });
}

} // namespace troupe::kernels
