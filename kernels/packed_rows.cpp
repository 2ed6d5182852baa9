// Rows in the layout of the ISA's kernel (kernels/bf16_rule.hpp), or dense f32
// with readable rows up to a whole tile (f32 mode).
#include "kernels/bf16_rule.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rounding.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::kernels {

namespace {

using bf16_rule::step_inputs;
using bf16_rule::steps_of;
using bf16_rule::tile_row_bytes;
using bf16_rule::tile_rows;

/// Columns that are set at once.
constexpr size_t piece = 2 * step_inputs;

enum class row_layout : uint8_t { tiles, wide, narrow, dense_f32 };

row_layout layout_of(compute_options options) {
  if (options.mode == numeric_mode::f32)
    return row_layout::dense_f32;
  switch (options.isa) {
  case isa::scalar:
    return row_layout::narrow;
  case isa::avx2:
  case isa::avx512:
    return row_layout::wide;
  case isa::amx:
    break;
  }
  return row_layout::tiles;
}

/// Where step 0 of a row lies in its tile, and how far the steps are apart.
struct tile_place {
  size_t offset;
  size_t step_bytes;
};

tile_place place_in_tiles(size_t row, size_t rows, size_t steps) {
  const size_t tile = row / tile_rows;
  const size_t height = std::min(tile_rows, rows - tile * tile_rows);
  return {tile * tile_rows * steps * tile_row_bytes +
            row % tile_rows * tile_row_bytes,
          height * tile_row_bytes};
}

void copy_to_tiles(std::byte* out, size_t step_bytes, const bf16* values,
                   size_t count) {
  size_t i = 0;
  for (; i + step_inputs <= count; i += step_inputs, out += step_bytes)
    std::memcpy(out, values + i, tile_row_bytes);
  if (i == count)
    return;
  std::memset(out, 0, tile_row_bytes);
  std::memcpy(out, values + i, (count - i) * sizeof(bf16));
}

} // namespace

size_t packed_rows::bytes_needed(size_t rows, size_t inputs,
                                 compute_options options) {
  const size_t padded = steps_of(inputs) * step_inputs;
  switch (layout_of(options)) {
  case row_layout::tiles:
  case row_layout::narrow:
    return rows * padded * sizeof(bf16);
  case row_layout::wide:
    return rows * padded * sizeof(float);
  case row_layout::dense_f32:
    break;
  }
  return (rows + row_tile - 1) / row_tile * row_tile * inputs * sizeof(float);
}

packed_rows::packed_rows(std::byte* memory, size_t rows, size_t inputs,
                         compute_options options)
  : data_(memory), rows_(rows), inputs_(inputs), options_(options) {
}

void packed_rows::set_row(size_t to, activation_view x, size_t from,
                          float scale) const {
  TROUPE_ASSERT(to < rows_ && from < x.rows && x.cols == inputs_);
  if (scale != 1.0f)
    return set_scaled_row(to, x.row(from), x.type, scale);
  const size_t steps = steps_of(inputs_), padded = steps * step_inputs;
  const auto layout = layout_of(options_);
  if (layout == row_layout::dense_f32) {
    TROUPE_ASSERT(x.type == dtype::f32);
    std::memcpy(data_ + to * inputs_ * sizeof(float), x.row(from),
                inputs_ * sizeof(float));
    return;
  }
  TROUPE_ASSERT(x.type == dtype::bf16);
  const auto* values = reinterpret_cast<const bf16*>(x.row(from));
  if (layout == row_layout::tiles) {
    const auto place = place_in_tiles(to, rows_, steps);
    copy_to_tiles(data_ + place.offset, place.step_bytes, values, inputs_);
  } else if (layout == row_layout::wide) {
    auto* out = reinterpret_cast<float*>(data_) + to * padded;
    for (size_t i = 0; i < inputs_; ++i)
      out[i] = to_float(values[i]);
    std::fill(out + inputs_, out + padded, 0.0f);
  } else {
    auto* out = reinterpret_cast<bf16*>(data_) + to * padded;
    std::copy_n(values, inputs_, out);
    std::fill(out + inputs_, out + padded, bf16{});
  }
}

/// Few models scale, and only once per pair: piece by piece will do.
void packed_rows::set_scaled_row(size_t to, const std::byte* row, dtype type,
                                 float scale) const {
  for (size_t column = 0; column < inputs_; column += piece) {
    float values[piece];
    const size_t count = std::min(piece, inputs_ - column);
    for (size_t i = 0; i < count; ++i) {
      const size_t at = column + i;
      values[i] =
        scale * (type == dtype::f32
                   ? reinterpret_cast<const float*>(row)[at]
                   : to_float(reinterpret_cast<const bf16*>(row)[at]));
    }
    set_block(to, column, {values, 1, count, count});
  }
}

void packed_rows::set_block(size_t first, size_t column,
                            matrix_view<const float> values) const {
  TROUPE_ASSERT(first + values.rows <= rows_);
  TROUPE_ASSERT(column + values.cols <= inputs_ && column % piece == 0);
  const auto layout = layout_of(options_);
  if (layout == row_layout::dense_f32) {
    auto* out = reinterpret_cast<float*>(data_) + first * inputs_ + column;
    for (size_t row = 0; row < values.rows; ++row)
      std::copy_n(values.row(row), values.cols, out + row * inputs_);
    return;
  }
  const auto round = rounding_for(options_.isa);
  const size_t padded = steps_of(inputs_) * step_inputs;
  for (size_t row = 0; row < values.rows; ++row)
    for (size_t done = 0; done < values.cols; done += piece) {
      const size_t at = column + done;
      bf16 rounded[piece] = {};
      round(values.row(row) + done, std::min(piece, values.cols - done),
            rounded);
      set_piece(first + row, at, {rounded, std::min(piece, padded - at)});
    }
}

void packed_rows::set_piece(size_t to, size_t column,
                            std::span<const bf16> values) const {
  const size_t steps = steps_of(inputs_), padded = steps * step_inputs;
  switch (layout_of(options_)) {
  case row_layout::tiles: {
    const auto place = place_in_tiles(to, rows_, steps);
    const size_t step = column / step_inputs;
    return copy_to_tiles(data_ + place.offset + step * place.step_bytes,
                         place.step_bytes, values.data(), values.size());
  }
  case row_layout::wide: {
    auto* out = reinterpret_cast<float*>(data_) + to * padded + column;
    std::ranges::transform(values, out, to_float);
    return;
  }
  case row_layout::narrow: {
    auto* out = reinterpret_cast<bf16*>(data_) + to * padded + column;
    std::ranges::copy(values, out);
    return;
  }
  case row_layout::dense_f32:
    TROUPE_ASSERT(false);
  }
}

} // namespace troupe::kernels
