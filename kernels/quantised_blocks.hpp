// The blocks of a quantised packed_weight: as many bytes as the checkpoint has,
// in an order in which a block expands to the layout of a plain one.
//
// bf16 mode, a panel of 64 columns (rows of W):
//   fp8_block  one 64-byte record for 128 K (its scale, and a table made of
//              it), then [steps][16 pairs][64 columns][2] codes: the bytes of
//              the plain panel's order
//   mxfp4      [steps] of [16 pairs][64 columns] bytes of two codes, and the
//              64 scales of the columns
// f32 mode, 256 columns: their codes row by row, then their scales.
//
// What a matrix lacks is filled with zeros. Bytes are the same for every ISA.
// Internal to kernels/.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/quant.hpp"

#include <cstddef>

namespace troupe::kernels {

/// Steps of 32 K of a panel.
struct step_range {
  size_t first = 0;
  size_t count = 0;
};

/// How many steps are expanded at once: few, so that they stay in the core's
/// first cache, and reading goes on while they are multiplied; or whole panels
/// for kernels that compute no parts.
size_t expanded_steps(isa level);

/// Blocks of one shape.
struct quantised_blocks {
  weight_format format;
  size_t inputs;
  numeric_mode mode;

  size_t block_bytes() const;

  /// Packs the rows of `source` from `first_row` on that make up one block.
  /// Rows of FP8 start on a multiple of 64.
  void pack(const quantised_view& source, size_t first_row,
            std::byte* block) const;

  /// Writes steps [first, first + count) of a block as bf16 panel
  /// (kernels/bf16_rule.hpp), in bf16 mode.
  void expand_steps(isa level, const std::byte* block, step_range steps,
                    bf16* panel) const;

  /// Writes a block as dense rows [256, inputs], in f32 mode.
  void expand_rows(isa level, const std::byte* block, float* rows) const;
};

} // namespace troupe::kernels
