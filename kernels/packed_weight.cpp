// Packing of weights into the layouts of kernels/matmul.hpp.
#include "kernels/bf16_rule.hpp"
#include "kernels/f32_tiles.hpp"
#include "kernels/matmul.hpp"
#include "kernels/quantised_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe::kernels {

namespace {

using bf16_rule::panel_columns;
using bf16_rule::step_inputs;
using bf16_rule::steps_of;

/// Elements [first, first + 32) of a row as 16 pairs, zero padded.
struct step_of_row {
  alignas(64) bf16 values[step_inputs] = {};
};

step_of_row load_step(const weight_view& source, size_t row, size_t first) {
  step_of_row step;
  const size_t count = std::min(step_inputs, source.cols - first);
  if (source.type == dtype::bf16) {
    const auto* from = reinterpret_cast<const bf16*>(source.row(row)) + first;
    std::memcpy(step.values, from, count * sizeof(bf16));
    return step;
  }
  const auto* from = reinterpret_cast<const float*>(source.row(row)) + first;
  for (size_t i = 0; i < count; ++i)
    step.values[i] = to_bf16(from[i]);
  return step;
}

/// One panel: 64 rows of the source become 64 columns.
void pack_panel(const weight_view& source, size_t first_row, std::byte* out) {
  const size_t steps = steps_of(source.cols);
  const size_t columns = std::min(panel_columns, source.rows - first_row);
  for (size_t step = 0; step < steps; ++step) {
    auto* block = out + step * bf16_rule::block_bytes;
    if (columns < panel_columns)
      std::memset(block, 0, bf16_rule::block_bytes);
    for (size_t column = 0; column < columns; ++column) {
      const auto from =
        load_step(source, first_row + column, step * step_inputs);
      for (size_t pair = 0; pair < step_inputs / 2; ++pair)
        std::memcpy(block + (pair * panel_columns + column) * 4,
                    from.values + 2 * pair, 4);
    }
  }
}

/// One f32 block: 256 rows of the source, zero padded.
void pack_f32_block(const weight_view& source, size_t first_row,
                    const f32_tiles& tiles, std::byte* out) {
  std::vector<float> dense(f32_tiles::columns * source.cols);
  const size_t count = std::min(f32_tiles::columns, source.rows - first_row);
  for (size_t row = 0; row < count; ++row) {
    float* to = dense.data() + row * source.cols;
    const std::byte* from = source.row(first_row + row);
    if (source.type == dtype::f32)
      std::memcpy(to, from, source.cols * sizeof(float));
    else
      std::transform(reinterpret_cast<const bf16*>(from),
                     reinterpret_cast<const bf16*>(from) + source.cols, to,
                     to_float);
  }
  tiles.pack_block(dense.data(), out);
}

size_t aligned(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

template <class Source>
std::pair<aligned_buffer, packed_weight> pack_alone(const Source& source,
                                                    const weight_shape& shape,
                                                    compute_options options) {
  aligned_buffer memory(packed_weight::bytes_needed(shape, options));
  auto weight = packed_weight::pack_into({memory.data(), memory.size_bytes()},
                                         source, options);
  return {std::move(memory), std::move(weight)};
}

} // namespace

packed_weight packed_weight::pack(weight_view source, compute_options options) {
  auto [memory, weight] =
    pack_alone(source, {source.rows, source.cols}, options);
  weight.own_ = std::move(memory);
  return std::move(weight);
}

packed_weight packed_weight::pack(const quantised_view& source,
                                  compute_options options) {
  auto [memory, weight] =
    pack_alone(source, {source.rows, source.cols, source.format}, options);
  weight.own_ = std::move(memory);
  return std::move(weight);
}

packed_weight packed_weight::pack_into(std::span<std::byte> memory,
                                       weight_view source,
                                       compute_options options) {
  TROUPE_ASSERT(source.type == dtype::f32 || source.type == dtype::bf16);
  auto weight = view(memory, {source.rows, source.cols}, options);
  for (size_t block = 0; block < weight.blocks(); ++block) {
    std::byte* out = memory.data() + block * weight.block_bytes();
    const size_t first_row = block * weight.block_columns();
    if (options.mode == numeric_mode::bf16)
      pack_panel(source, first_row, out);
    else
      pack_f32_block(source, first_row, *weight.tiles_, out);
  }
  return weight;
}

packed_weight packed_weight::pack_into(std::span<std::byte> memory,
                                       const quantised_view& source,
                                       compute_options options) {
  auto weight =
    view(memory, {source.rows, source.cols, source.format}, options);
  const quantised_blocks blocks{source.format, source.cols, options.mode};
  for (size_t block = 0; block < weight.blocks(); ++block)
    blocks.pack(source, block * weight.block_columns(),
                memory.data() + block * weight.block_bytes());
  return weight;
}

packed_weight packed_weight::view(std::span<const std::byte> memory,
                                  const weight_shape& shape,
                                  compute_options options) {
  TROUPE_ASSERT(shape.outputs > 0 && shape.inputs > 0);
  TROUPE_ASSERT(supported(options.isa));
  TROUPE_ASSERT(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0);
  packed_weight weight;
  weight.data_ = memory.data();
  weight.shape_ = shape;
  weight.options_ = options;
  if (options.mode == numeric_mode::f32)
    weight.tiles_ = f32_tiles::of(shape.inputs, options.isa);
  weight.bytes_ = weight.blocks() * weight.block_bytes();
  TROUPE_ASSERT(memory.size() >= weight.bytes_);
  return weight;
}

size_t packed_weight::bytes_needed(const weight_shape& shape,
                                   compute_options options) {
  packed_weight weight;
  weight.shape_ = shape;
  weight.options_ = options;
  if (options.mode == numeric_mode::f32)
    weight.tiles_ = f32_tiles::of(shape.inputs, options.isa);
  return weight.blocks() * weight.block_bytes();
}

std::string packed_weight::layout(compute_options options,
                                  weight_format format) {
  if (format != weight_format::plain)
    return fmt::format("{} {}", to_string(format),
                       options.mode == numeric_mode::bf16 ? "panels of 64"
                                                          : "rows by 256");
  if (options.mode == numeric_mode::bf16)
    return "bf16 BA16a64b2a";
  return fmt::format("f32 oneDNN {} {}", dnnl_version_name(),
                     to_string(options.isa));
}

size_t packed_weight::block_columns() const {
  return options_.mode == numeric_mode::bf16 ? panel_columns
                                             : f32_tiles::columns;
}

size_t packed_weight::blocks() const {
  return (outputs() + block_columns() - 1) / block_columns();
}

size_t packed_weight::block_bytes() const {
  if (format() != weight_format::plain)
    return quantised_blocks{format(), inputs(), options_.mode}.block_bytes();
  if (options_.mode == numeric_mode::bf16)
    return steps_of(inputs()) * bf16_rule::block_bytes;
  return tiles_->block_bytes();
}

size_t packed_weight::columns_of(size_t block) const {
  TROUPE_ASSERT(block < blocks());
  return std::min(block_columns(), outputs() - block * block_columns());
}

size_t packed_weight::expansion_bytes() const {
  if (format() == weight_format::plain)
    return 0;
  if (options_.mode == numeric_mode::bf16)
    return std::min(expanded_steps(options_.isa), steps_of(inputs())) *
           bf16_rule::block_bytes;
  return tiles_->block_bytes() +
         aligned(f32_tiles::columns * inputs() * sizeof(float));
}

} // namespace troupe::kernels
