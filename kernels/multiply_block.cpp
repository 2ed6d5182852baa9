// One block times a range of rows: by oneDNN's tiles in f32 mode, by the
// kernels of the bf16 rule otherwise. Quantised blocks are expanded first.
#include "kernels/bf16_rule.hpp"
#include "kernels/f32_tiles.hpp"
#include "kernels/matmul.hpp"
#include "kernels/quantised_blocks.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

quantised_blocks stored_shape(const packed_weight& w) {
  return {w.format(), w.inputs(), w.options().mode};
}

/// The block as oneDNN reads it.
const std::byte* f32_block(const block_task& task) {
  const auto& w = *task.w;
  const std::byte* stored = w.block_data(task.block);
  if (w.format() == weight_format::plain)
    return stored;
  const auto& tiles = *w.tiles();
  auto* rows = reinterpret_cast<float*>(task.memory + tiles.block_bytes());
  stored_shape(w).expand_rows(w.options().isa, stored, rows);
  tiles.pack_block(rows, task.memory);
  return task.memory;
}

void multiply_f32(const block_task& task, const packed_rows& x) {
  const auto* rows = reinterpret_cast<const float*>(x.data());
  task.w->tiles()->multiply(f32_block(task),
                            rows + task.range.first * x.inputs(),
                            task.range.count, task.out);
}

/// Expands and multiplies by turns.
void multiply_stored(const block_task& task, bf16_rule::panel_task panel) {
  const auto& w = *task.w;
  const auto level = w.options().isa;
  const auto shape = stored_shape(w);
  const size_t steps = panel.steps;
  const size_t at_once = std::min(expanded_steps(level), steps);
  panel.panel = task.memory;
  panel.is_fetched = true;
  for (size_t first = 0; first < steps; first += at_once) {
    panel.steps = std::min(at_once, steps - first);
    shape.expand_steps(level, w.block_data(task.block), {first, panel.steps},
                       reinterpret_cast<bf16*>(task.memory));
    if (panel.steps < steps) {
      panel.first_step = first;
      panel.row_steps = steps;
    }
    bf16_rule::multiply_panel(level, panel);
  }
}

} // namespace

void multiply_block(const block_task& task, const packed_rows& x) {
  const auto& w = *task.w;
  const auto& range = task.range;
  TROUPE_ASSERT(x.inputs() == w.inputs() && task.block < w.blocks());
  TROUPE_ASSERT(range.first % row_tile == 0);
  TROUPE_ASSERT(range.count % row_tile == 0 ||
                range.first + range.count == x.rows());
  TROUPE_ASSERT(w.format() == weight_format::plain || task.memory != nullptr);
  if (w.options().mode == numeric_mode::f32)
    return multiply_f32(task, x);
  bf16_rule::panel_task panel;
  panel.steps = bf16_rule::steps_of(w.inputs());
  panel.rows = x.data();
  panel.row_count = x.rows();
  panel.range = range;
  panel.out = task.out.data;
  panel.out_stride = task.out.stride;
  if (w.format() != weight_format::plain)
    return multiply_stored(task, panel);
  panel.panel = w.block_data(task.block);
  panel.is_fetched = task.is_fetched;
  panel.next = task.next;
  bf16_rule::multiply_panel(w.options().isa, panel);
}

} // namespace troupe::kernels
