// The scalar kernel, and the choice of a kernel by ISA.
#include "kernels/bf16_rule.hpp"

#include "kernels/reference/bf16_dot.hpp"
#include "runtime/assert.hpp"

namespace troupe::kernels::bf16_rule {

namespace {

using reference::add_flushed;
using reference::fma_flushed;

/// One step of one column: e + o over 16 pairs.
float step_sum(const bf16* x, const bf16* pairs) {
  float even = 0, odd = 0;
  for (size_t i = 0; i < step_inputs; i += 2) {
    const bf16* w = pairs + i * panel_columns;
    even = fma_flushed(to_float(x[i]), to_float(w[0]), even);
    odd = fma_flushed(to_float(x[i + 1]), to_float(w[1]), odd);
  }
  return add_flushed(even, odd);
}

} // namespace

void multiply_panel_scalar(const panel_task& task) {
  const auto* rows = reinterpret_cast<const bf16*>(task.rows);
  for (size_t r = 0; r < task.range.count; ++r) {
    const size_t row = task.range.first + r;
    const bf16* x =
      rows + (row * task.steps_of_rows() + task.first_step) * step_inputs;
    float* out = task.out + r * task.out_stride;
    for (size_t column = 0; column < panel_columns; ++column) {
      float acc = task.first_step == 0 ? 0.0f : out[column];
      for (size_t step = 0; step < task.steps; ++step) {
        const auto* block =
          reinterpret_cast<const bf16*>(task.panel + step * block_bytes);
        acc = add_flushed(acc,
                          step_sum(x + step * step_inputs, block + 2 * column));
      }
      out[column] = acc;
    }
  }
}

void multiply_panel(isa level, const panel_task& task) {
  TROUPE_ASSERT(task.range.first + task.range.count <= task.row_count);
  TROUPE_ASSERT(!task.is_part() || computes_parts(level));
  switch (level) {
  case isa::scalar:
    return multiply_panel_scalar(task);
  case isa::avx2:
    return multiply_panel_avx2(task);
  case isa::avx512:
    return multiply_panel_avx512(task);
  case isa::amx:
    return multiply_panel_amx(task);
  }
}

} // namespace troupe::kernels::bf16_rule
