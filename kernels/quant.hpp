// Quantised weights as checkpoints store them, and the values they stand for.
//
// fp8_block  one byte an element: sign, 4 bits of exponent (bias 7), 3 bits of
//            fraction; no infinity, 0x7f and 0xff are NaN. One f32 scale for
//            128 x 128 elements; value = element * scale.
// mxfp4      half a byte an element (E2M1: 0, .5, 1, 1.5, 2, 3, 4, 6 and their
//            negatives), the lower half first. One byte of scale (E8M0) for 32
//            elements of a row; value = element * 2^(scale - 127), 255 is NaN.
//
// Values are the exact products, rounded once (to nearest even) to the type
// that is asked for; denormal results stay, whatever the thread's flags.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::kernels {

enum class weight_format : uint8_t {
  plain,     ///< bf16, f16 or f32
  fp8_block, ///< E4M3 with a scale per block of 128 x 128
  mxfp4,     ///< E2M1 with a power of two per 32 columns
};

std::string_view to_string(weight_format format);

/// Rows and columns of one FP8 scale.
inline constexpr size_t fp8_block_size = 128;
/// Columns of one MXFP4 scale, and the bytes of their elements.
inline constexpr size_t mxfp4_block_size = 32;
inline constexpr size_t mxfp4_block_bytes = 16;

/// A quantised matrix W[rows, cols] in a file or in memory.
struct quantised_view {
  weight_format format = weight_format::fp8_block;
  size_t rows = 0;
  size_t cols = 0;
  /// Elements; rows are `codes_stride` bytes apart.
  const uint8_t* codes = nullptr;
  size_t codes_stride = 0;
  /// fp8_block: float[ceil(rows / 128)][scales_stride], one for 128 columns.
  /// mxfp4: uint8_t[rows][scales_stride], one for 32 columns.
  const void* scales = nullptr;
  size_t scales_stride = 0;

  /// Bytes of the elements of a row.
  static size_t row_bytes(weight_format format, size_t cols);
  /// Scales of a row.
  static size_t row_scales(weight_format format, size_t cols);
};

/// Views dense codes and scales (f32 for FP8, bytes for MXFP4).
quantised_view as_fp8(const uint8_t* codes, const float* scales, size_t rows,
                      size_t cols);
quantised_view as_mxfp4(const uint8_t* codes, const uint8_t* scales,
                        size_t rows, size_t cols);

/// The bits of `code * scale` in f32 and in bf16.
uint32_t fp8_value_f32(uint8_t code, float scale);
bf16 fp8_value_bf16(uint8_t code, float scale);

/// The bits of one MXFP4 value; `code` is below 16.
uint32_t mxfp4_value_f32(uint8_t code, uint8_t scale);
bf16 mxfp4_value_bf16(uint8_t code, uint8_t scale);

/// Writes columns [column, column + out.size()) of a row. `column` is a
/// multiple of 32.
void expand_row(isa level, const quantised_view& w, size_t row, size_t column,
                std::span<float> out);
void expand_row(isa level, const quantised_view& w, size_t row, size_t column,
                std::span<bf16> out);

/// Writes the whole matrix, in f32 or bf16.
void expand(isa level, const quantised_view& w, output_view out);

} // namespace troupe::kernels
