// y = x * W^T on packed weights, batch-invariant by construction: the bits of a
// row depend on the row and the weight only, not on the other rows, their
// number, the lanes or (in bf16 mode) the ISA. docs/numerics.md has the rule.
//
// bf16 mode: W[N, K] is cut in panels of 64 columns (rows of W), each a row of
// 4 KiB blocks of 32 K-steps x 64 columns, pairs of K interleaved: oneDNN's
// BA16a64b2a. Zero padded; the same bytes for every ISA.
// f32 mode: oneDNN's own f32 layout in blocks of 256 columns.
// A quantised weight keeps the checkpoint's bytes
// (kernels/quantised_blocks.hpp) and is expanded block by block, into memory of
// the task that computes it: the same bits as expanding it first and packing
// that.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/quant.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace troupe::kernels {

class f32_tiles; // oneDNN primitives of one [K, 256] block

/// What tells the size of a packed weight.
struct weight_shape {
  size_t outputs = 0;
  size_t inputs = 0;
  weight_format format = weight_format::plain;
};

/// A weight matrix W[outputs, inputs] in the layout the kernels read.
class packed_weight {
public:
  packed_weight() = default;

  /// Packs `source` (bf16 or f32; f32 is rounded to bf16 in bf16 mode, bf16 is
  /// expanded in f32 mode) into memory of its own.
  static packed_weight pack(weight_view source, compute_options options);

  /// Packs a quantised weight as stored.
  static packed_weight pack(const quantised_view& source,
                            compute_options options);

  /// The same into the caller's memory (64-byte aligned, `bytes_needed`), which
  /// must outlive the weight: one arena per layer, or a file mapping.
  static packed_weight pack_into(std::span<std::byte> memory,
                                 weight_view source, compute_options options);
  static packed_weight pack_into(std::span<std::byte> memory,
                                 const quantised_view& source,
                                 compute_options options);

  /// Uses bytes that were packed before with the same `layout`.
  static packed_weight view(std::span<const std::byte> memory,
                            const weight_shape& shape, compute_options options);
  static packed_weight view(std::span<const std::byte> memory, size_t outputs,
                            size_t inputs, compute_options options) {
    return view(memory, {outputs, inputs}, options);
  }

  static size_t bytes_needed(const weight_shape& shape,
                             compute_options options);
  static size_t bytes_needed(size_t outputs, size_t inputs,
                             compute_options options) {
    return bytes_needed({outputs, inputs}, options);
  }

  /// Names the byte layout; equal names mean exchangeable bytes.
  static std::string layout(compute_options options,
                            weight_format format = weight_format::plain);

  size_t outputs() const {
    return shape_.outputs;
  }
  size_t inputs() const {
    return shape_.inputs;
  }
  weight_format format() const {
    return shape_.format;
  }
  const compute_options& options() const {
    return options_;
  }
  bool empty() const {
    return shape_.outputs == 0;
  }
  size_t size_bytes() const {
    return bytes_;
  }
  const std::byte* data() const {
    return data_;
  }

  /// The weight is computed block by block: 64 columns (bf16) or 256 (f32).
  size_t block_columns() const;
  size_t blocks() const;
  size_t block_bytes() const;
  /// Columns of block `block` that exist (the last one may be short).
  size_t columns_of(size_t block) const;
  const std::byte* block_data(size_t block) const {
    return data_ + block * block_bytes();
  }
  const f32_tiles* tiles() const {
    return tiles_.get();
  }

  /// Memory that a task needs to expand a block, or the part of one that it
  /// computes at once; none for plain weights.
  size_t expansion_bytes() const;

private:
  aligned_buffer own_;
  const std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  weight_shape shape_;
  compute_options options_{isa::scalar, numeric_mode::bf16};
  std::shared_ptr<const f32_tiles> tiles_; ///< f32 mode only.
};

/// Computes y[M, N] = x[M, K] * W^T. `x` is bf16 in bf16 mode, f32 in f32 mode.
void matmul(const packed_weight& w, activation_view x, matrix_view<float> y,
            lanes& pool);

/// As above for several weights of the same input (query, key and value
/// projections): `x` is prepared once and all blocks are one set of tasks.
void matmul(std::span<const packed_weight* const> weights, activation_view x,
            std::span<const matrix_view<float>> ys, lanes& pool);

/// Rows prepared for the kernels of `options` (tiles for AMX, f32 rows for the
/// FMA kernels): the task-level form, from which moe_ffn is made.
class packed_rows {
public:
  /// Bytes that `rows` rows of `inputs` elements need.
  static size_t bytes_needed(size_t rows, size_t inputs,
                             compute_options options);

  packed_rows(std::byte* memory, size_t rows, size_t inputs,
              compute_options options);

  /// Copies row `from` of `x`, times `scale` and rounded again to the type of
  /// `x`, to row `to`. Different rows may be set by different threads.
  void set_row(size_t to, activation_view x, size_t from,
               float scale = 1.0f) const;

  /// Writes columns [column, column + values.cols) of rows [first, first +
  /// values.rows), rounded to the compute type. `column` is a multiple of 64;
  /// the piece that holds the last column also zeroes the padding behind it.
  void set_block(size_t first, size_t column,
                 matrix_view<const float> values) const;

  size_t rows() const {
    return rows_;
  }
  size_t inputs() const {
    return inputs_;
  }
  std::byte* data() const {
    return data_;
  }

private:
  void set_scaled_row(size_t to, const std::byte* row, dtype type,
                      float scale) const;
  void set_piece(size_t to, size_t column, std::span<const bf16> values) const;

  std::byte* data_;
  size_t rows_;
  size_t inputs_;
  compute_options options_;
};

/// Rows [first, first + count) of packed rows; `first` is a multiple of
/// `row_tile`.
struct row_range {
  size_t first = 0;
  size_t count = 0;
};

/// Rows per tile: ranges of rows start on its multiples.
inline constexpr size_t row_tile = 32;

/// How many rows one task should take: their prepared form shares the core's
/// second-level cache with the weights that stream past. A multiple of
/// `row_tile`.
size_t rows_per_task(size_t inputs, compute_options options);

/// How many consecutive blocks of `w` one task should take, of `blocks` that
/// there are in all: with many rows the next block is fetched while one is
/// computed.
size_t blocks_per_task(const packed_weight& w, size_t rows, size_t blocks,
                       const lanes& pool);

/// One block of a weight for a range of rows.
struct block_task {
  const packed_weight* w = nullptr;
  size_t block = 0;
  row_range range;
  matrix_view<float> out; ///< [range.count, block_columns()]
  /// Whether the block was fetched ahead: named as `next` by the task before.
  bool is_fetched = false;
  /// The block computed next by this thread, of the same size, or null: it is
  /// fetched into the cache meanwhile.
  const std::byte* next = nullptr;
  /// `w->expansion_bytes()` on a 64-byte boundary, for quantised weights.
  std::byte* memory = nullptr;
};

/// Computes out[i, j] for i < range.count and j < block_columns() (columns
/// beyond the last are zero).
void multiply_block(const block_task& task, const packed_rows& x);

} // namespace troupe::kernels
