// matmul as tasks: (row chunk x block). A chunk of rows stays in the core's L2
// while blocks of the weight stream past it.
#include "kernels/matmul.hpp"

#include "kernels/bf16_rule.hpp"
#include "kernels/f32_tiles.hpp"

#include <algorithm>
#include <cstring>

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

struct block_target {
  const packed_weight& w;
  size_t block;
  matrix_view<float> y; ///< All rows and columns of the weight's output.
};

/// Computes one block into its place in y; a short last block by way of the
/// task's memory.
void compute_block(const block_target& target, const packed_rows& rows,
                   row_range range, lanes& pool, size_t lane) {
  const size_t columns = target.w.columns_of(target.block);
  const size_t width = target.w.block_columns();
  float* first = target.y.row(range.first) + target.block * width;
  if (columns == width)
    return multiply_block(target.w, target.block, rows, range,
                          {first, range.count, width, target.y.stride});
  auto* memory = reinterpret_cast<float*>(
    pool.task_scratch(lane, range.count * width * sizeof(float)));
  multiply_block(target.w, target.block, rows, range,
                 {memory, range.count, width, width});
  for (size_t row = 0; row < range.count; ++row)
    std::copy_n(memory + row * width, columns, first + row * target.y.stride);
}

} // namespace

size_t rows_per_task(size_t inputs, compute_options options) {
  const size_t row_bytes =
    packed_rows::bytes_needed(row_tile, inputs, options) / row_tile;
  const size_t rows = chunk_bytes / std::max<size_t>(row_bytes, 1);
  return std::clamp(rows / row_tile * row_tile, chunk_rows_min, chunk_rows_max);
}

void multiply_block(const packed_weight& w, size_t block, const packed_rows& x,
                    row_range range, matrix_view<float> out) {
  TROUPE_ASSERT(x.inputs() == w.inputs() && block < w.blocks());
  TROUPE_ASSERT(range.first % row_tile == 0);
  TROUPE_ASSERT(range.count % row_tile == 0 ||
                range.first + range.count == x.rows());
  if (w.options().mode == numeric_mode::f32) {
    const auto* rows = reinterpret_cast<const float*>(x.data());
    return w.tiles()->multiply(
      w.block_data(block), rows + range.first * x.inputs(), range.count, out);
  }
  bf16_rule::multiply_panel(
    w.options().isa, {w.block_data(block), bf16_rule::steps_of(w.inputs()),
                      x.data(), x.rows(), range, out.data, out.stride});
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
  size_t blocks = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& w = *weights[i];
    TROUPE_ASSERT(w.inputs() == x.cols && w.options().mode == options.mode &&
                  w.options().isa == options.isa);
    TROUPE_ASSERT(ys[i].rows == x.rows && ys[i].cols == w.outputs());
    blocks += w.blocks();
  }
  lanes::seat seat(pool);
  const packed_rows rows(
    seat.scratch(packed_rows::bytes_needed(x.rows, x.cols, options)), x.rows,
    x.cols, options);
  prepare_rows(rows, x, pool);
  const size_t chunk = rows_per_task(x.cols, options);
  const size_t chunks = (x.rows + chunk - 1) / chunk;
  pool.parallel_for(chunks * blocks, [&](size_t task, size_t lane) {
    const size_t first = task / blocks * chunk;
    size_t block = task % blocks, which = 0;
    while (block >= weights[which]->blocks())
      block -= weights[which++]->blocks();
    compute_block({*weights[which], block, ys[which]}, rows,
                  {first, std::min(chunk, x.rows - first)}, pool, lane);
  });
}

} // namespace troupe::kernels
