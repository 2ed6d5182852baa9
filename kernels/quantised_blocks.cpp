// Packing orders bytes and changes none, but for the scale of 32 MXFP4 zeros,
// which says nothing: an ordinary one keeps the vector loop going.
#include "kernels/quantised_blocks.hpp"

#include "kernels/bf16_rule.hpp"
#include "kernels/f32_tiles.hpp"
#include "kernels/quant_simd.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe::kernels {

namespace {

using bf16_rule::panel_columns;
using bf16_rule::step_inputs;
using bf16_rule::steps_of;

constexpr size_t pairs = step_inputs / 2;
constexpr size_t panel_step_elements = panel_columns * step_inputs;
/// Steps that share an FP8 scale.
constexpr size_t fp8_steps = fp8_block_size / step_inputs;
constexpr uint8_t scale_of_one = 127;
/// 8 KiB of bf16: with the rows' part and the codes ahead they fit in L1.
constexpr size_t steps_at_once = 2;

static_assert(mxfp4_block_size == step_inputs &&
              fp8_block_size % panel_columns == 0);

/// What a panel keeps for 128 K.
struct fp8_record {
  fp8_table table;
  float scale;
  std::array<uint8_t, 28> reserved;
};

static_assert(sizeof(fp8_record) == 64);

/// A step of an MXFP4 panel.
struct mxfp4_step {
  std::array<uint8_t, pairs * panel_columns> codes;
  std::array<uint8_t, panel_columns> scales;
};

static_assert(sizeof(mxfp4_step) == 17 * 64);

size_t padded(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

size_t fp8_groups(size_t inputs) {
  return (inputs + fp8_block_size - 1) / fp8_block_size;
}

/// Bytes of the codes of a block of 256 rows.
size_t f32_codes_bytes(const quantised_blocks& shape) {
  return padded(f32_tiles::columns *
                quantised_view::row_bytes(shape.format, shape.inputs));
}

/// A block of 256 rows as a matrix of its own.
quantised_view view_f32_block(const quantised_blocks& shape,
                              const std::byte* block) {
  const auto* codes = reinterpret_cast<const uint8_t*>(block);
  const auto* scales = block + f32_codes_bytes(shape);
  if (shape.format == weight_format::fp8_block)
    return as_fp8(codes, reinterpret_cast<const float*>(scales),
                  f32_tiles::columns, shape.inputs);
  return as_mxfp4(codes, reinterpret_cast<const uint8_t*>(scales),
                  f32_tiles::columns, shape.inputs);
}

void pack_f32_block(const quantised_blocks& shape, const quantised_view& from,
                    size_t first_row, std::byte* block) {
  const size_t row_bytes =
    quantised_view::row_bytes(shape.format, shape.inputs);
  const size_t row_scales =
    quantised_view::row_scales(shape.format, shape.inputs);
  std::memset(block, 0, shape.block_bytes());
  const size_t rows = std::min(f32_tiles::columns, from.rows - first_row);
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(block + row * row_bytes,
                from.codes + (first_row + row) * from.codes_stride, row_bytes);
  const bool is_fp8 = shape.format == weight_format::fp8_block;
  const size_t rows_of_scale = is_fp8 ? fp8_block_size : 1;
  const size_t scale_bytes = row_scales * (is_fp8 ? sizeof(float) : 1);
  const size_t stride_bytes = from.scales_stride * (is_fp8 ? sizeof(float) : 1);
  const auto* scales = static_cast<const std::byte*>(from.scales) +
                       first_row / rows_of_scale * stride_bytes;
  auto* out = block + f32_codes_bytes(shape);
  for (size_t row = 0; row < rows; row += rows_of_scale) {
    std::memcpy(out, scales, scale_bytes);
    out += scale_bytes;
    scales += stride_bytes;
  }
}

void pack_fp8_panel(const quantised_view& from, size_t first_row,
                    std::byte* block) {
  const size_t groups = fp8_groups(from.cols);
  auto* records = reinterpret_cast<fp8_record*>(block);
  const auto* scales = static_cast<const float*>(from.scales) +
                       first_row / fp8_block_size * from.scales_stride;
  for (size_t group = 0; group < groups; ++group) {
    records[group] = {};
    records[group].scale = scales[group];
    if (is_ordinary_fp8(scales[group]))
      records[group].table = make_fp8_table(scales[group]);
  }
  auto* out = reinterpret_cast<uint8_t*>(records + groups);
  std::memset(out, 0, steps_of(from.cols) * panel_step_elements);
  const size_t columns = std::min(panel_columns, from.rows - first_row);
  for (size_t column = 0; column < columns; ++column) {
    const auto* row = from.codes + (first_row + column) * from.codes_stride;
    for (size_t k = 0; k + 1 < from.cols; k += 2)
      std::memcpy(out + k * panel_columns + 2 * column, row + k, 2);
    if (from.cols % 2 == 1)
      out[(from.cols - 1) * panel_columns + 2 * column] = row[from.cols - 1];
  }
}

/// One block of 32 of a row; codes behind the last one are made zero.
void pack_mxfp4_block(const uint8_t* codes, uint8_t scale, size_t count,
                      size_t column, mxfp4_step& out) {
  uint8_t any = 0;
  for (size_t pair = 0; pair < pairs; ++pair) {
    uint8_t both = codes[pair];
    if (2 * pair + 1 >= count)
      both &= 2 * pair < count ? 0x0fu : 0u;
    out.codes[pair * panel_columns + column] = both;
    any |= both & 0x77u;
  }
  out.scales[column] = any == 0 && scale != 255 ? scale_of_one : scale;
}

void pack_mxfp4_panel(const quantised_view& from, size_t first_row,
                      std::byte* block) {
  const size_t steps = steps_of(from.cols);
  auto* out = reinterpret_cast<mxfp4_step*>(block);
  for (size_t step = 0; step < steps; ++step) {
    out[step].codes.fill(0);
    out[step].scales.fill(scale_of_one);
  }
  const size_t columns = std::min(panel_columns, from.rows - first_row);
  const auto* scales = static_cast<const uint8_t*>(from.scales);
  for (size_t column = 0; column < columns; ++column) {
    const size_t row = first_row + column;
    for (size_t step = 0; step < steps; ++step)
      pack_mxfp4_block(from.codes + row * from.codes_stride +
                         step * mxfp4_block_bytes,
                       scales[row * from.scales_stride + step],
                       std::min(step_inputs, from.cols - step * step_inputs),
                       column, out[step]);
  }
}

/// Steps of a scale that is not ordinary. The first `inputs` K exist.
void expand_fp8_slowly(const uint8_t* codes, float scale, size_t inputs,
                       bf16* out) {
  std::array<bf16, 256> values;
  for (size_t code = 0; code < values.size(); ++code)
    values[code] = fp8_value_bf16(static_cast<uint8_t>(code), scale);
  for (size_t i = 0; i < steps_of(inputs) * panel_step_elements; ++i) {
    const size_t k = i / (2 * panel_columns) * 2 + i % 2;
    out[i] = k < inputs ? values[codes[i]] : bf16{};
  }
}

void expand_fp8_steps(const quantised_blocks& shape, isa level,
                      const std::byte* block, step_range range, bf16* panel) {
  const auto& loops = quant_loops_for(level);
  const auto* records = reinterpret_cast<const fp8_record*>(block);
  const auto* codes =
    reinterpret_cast<const uint8_t*>(records + fp8_groups(shape.inputs));
  const size_t end = range.first + range.count;
  for (size_t first = range.first; first < end;) {
    const auto& record = records[first / fp8_steps];
    const auto* from = codes + first * panel_step_elements;
    const size_t count = std::min(fp8_steps - first % fp8_steps, end - first);
    if (is_ordinary_fp8(record.scale))
      loops.fp8_to_bf16(from, record.table, count * panel_step_elements, panel);
    else
      expand_fp8_slowly(
        from, record.scale,
        std::min(count * step_inputs, shape.inputs - first * step_inputs),
        panel);
    panel += count * panel_step_elements;
    first += count;
  }
}

/// A step with a scale that is not ordinary. The first `inputs` K exist.
void expand_mxfp4_slowly(const mxfp4_step& step, size_t inputs, bf16* out) {
  for (size_t i = 0; i < step.codes.size(); ++i) {
    const uint8_t scale = step.scales[i % panel_columns];
    const size_t k = i / panel_columns * 2;
    for (size_t j = 0; j < 2; ++j) {
      const auto code = static_cast<uint8_t>(step.codes[i] >> (4 * j) & 15u);
      out[2 * i + j] = k + j < inputs ? mxfp4_value_bf16(code, scale) : bf16{};
    }
  }
}

/// Without branches, so that the compiler takes many at once.
bool are_ordinary(const std::array<uint8_t, panel_columns>& scales) {
  bool all = true;
  for (const auto scale : scales)
    all &= is_ordinary_mxfp4(scale);
  return all;
}

void expand_mxfp4_steps(const quantised_blocks& shape, isa level,
                        const std::byte* block, step_range range, bf16* panel) {
  const auto& loops = quant_loops_for(level);
  const auto* from = reinterpret_cast<const mxfp4_step*>(block);
  for (size_t i = 0; i < range.count; ++i) {
    const auto& step = from[range.first + i];
    auto* out = panel + i * panel_step_elements;
    if (are_ordinary(step.scales))
      loops.mxfp4_to_panel(step.codes.data(), step.scales.data(), out);
    else
      expand_mxfp4_slowly(
        step,
        std::min(step_inputs, shape.inputs - (range.first + i) * step_inputs),
        out);
  }
}

} // namespace

size_t expanded_steps(isa level) {
  return bf16_rule::computes_parts(level) ? steps_at_once : SIZE_MAX;
}

size_t quantised_blocks::block_bytes() const {
  const bool is_fp8 = format == weight_format::fp8_block;
  if (mode == numeric_mode::f32) {
    const size_t scales = quantised_view::row_scales(format, inputs);
    return f32_codes_bytes(*this) +
           padded(is_fp8 ? f32_tiles::columns / fp8_block_size * scales *
                             sizeof(float)
                         : f32_tiles::columns * scales);
  }
  if (is_fp8)
    return fp8_groups(inputs) * sizeof(fp8_record) +
           steps_of(inputs) * panel_step_elements;
  return steps_of(inputs) * sizeof(mxfp4_step);
}

void quantised_blocks::pack(const quantised_view& source, size_t first_row,
                            std::byte* block) const {
  TROUPE_ASSERT(source.format == format && source.cols == inputs &&
                first_row < source.rows);
  if (mode == numeric_mode::f32)
    return pack_f32_block(*this, source, first_row, block);
  if (format == weight_format::fp8_block)
    return pack_fp8_panel(source, first_row, block);
  pack_mxfp4_panel(source, first_row, block);
}

void quantised_blocks::expand_steps(isa level, const std::byte* block,
                                    step_range steps, bf16* panel) const {
  TROUPE_ASSERT(mode == numeric_mode::bf16);
  TROUPE_ASSERT(steps.first + steps.count <= steps_of(inputs));
  if (format == weight_format::fp8_block)
    return expand_fp8_steps(*this, level, block, steps, panel);
  expand_mxfp4_steps(*this, level, block, steps, panel);
}

void quantised_blocks::expand_rows(isa level, const std::byte* block,
                                   float* rows) const {
  TROUPE_ASSERT(mode == numeric_mode::f32);
  const auto view = view_f32_block(*this, block);
  for (size_t row = 0; row < view.rows; ++row)
    expand_row(level, view, row, 0, {rows + row * inputs, inputs});
}

} // namespace troupe::kernels
