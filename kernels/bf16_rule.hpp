// The definition of a bf16 dot product (docs/numerics.md), and the layouts and
// kernels that follow it. Internal to kernels/.
//
//   acc = 0
//   for each 32 steps of K (zero padded):        e = 0, o = 0
//     for i = 0..15:   e = fma(x[2i],   w[2i],   e)
//                      o = fma(x[2i+1], w[2i+1], o)
//     acc = acc + (e + o)
//
// all in f32, to nearest even, denormals flushed in and out. It is what the
// AMX instruction TDPBF16PS does (Intel SDM), and every other kernel too.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/matmul.hpp"

#include <cstddef>

namespace troupe::kernels::bf16_rule {

inline constexpr size_t step_inputs = 32;    ///< K of one step.
inline constexpr size_t panel_columns = 64;  ///< Columns of one panel.
inline constexpr size_t block_bytes = 4096;  ///< One step of one panel.
inline constexpr size_t tile_rows = 16;      ///< Rows of one AMX tile.
inline constexpr size_t tile_row_bytes = 64; ///< One step of one row, bf16.

inline size_t steps_of(size_t inputs) {
  return (inputs + step_inputs - 1) / step_inputs;
}

/// One panel times a range of rows.
struct panel_task {
  const std::byte* panel; ///< [steps][16 pairs][64 columns][2] bf16
  size_t steps;
  const std::byte* rows; ///< All packed rows, in the layout of the ISA.
  size_t row_count;      ///< How many they are.
  row_range range;       ///< Which of them to compute.
  float* out;            ///< [range.count, 64]
  size_t out_stride;
  bool is_fetched = false;         ///< The panel is on its way to the cache.
  const std::byte* next = nullptr; ///< A panel to fetch meanwhile, or null.
  /// Steps [first_step, first_step + steps) of `row_steps` are computed: all
  /// (row_steps is 0), or a part that adds to `out` unless it is the first.
  size_t first_step = 0;
  size_t row_steps = 0;

  bool is_part() const {
    return row_steps != 0;
  }
  /// Steps of a packed row.
  size_t steps_of_rows() const {
    return is_part() ? row_steps : steps;
  }
};

/// Whether the kernel of `level` computes parts of panels.
inline bool computes_parts(isa level) {
  return level != isa::amx;
}

/// Rows: bf16 [row][steps * 32].
void multiply_panel_scalar(const panel_task& task);

/// Rows: f32 [row][steps * 32].
void multiply_panel_avx2(const panel_task& task);
void multiply_panel_avx512(const panel_task& task);

/// Rows: tiles of 16 (the last may have fewer), bf16 [tile][step][row][32]:
/// a tile of a step is contiguous, so its loads meet no cache set twice.
void multiply_panel_amx(const panel_task& task);

void multiply_panel(isa level, const panel_task& task);

} // namespace troupe::kernels::bf16_rule
