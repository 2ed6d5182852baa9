// The vector loops of quantised weights. They hold where scales are ordinary:
// all products are normal numbers or zero. quant.cpp and quantised_blocks.cpp
// compute what is not, element by element. Internal to kernels/.
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/isa.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

/// bf16 bits of a scale times the 8 fractions, from which those of all codes
/// follow: of 2^-7 * (1 + i / 8), to which the exponent is added, and of the
/// denormal codes i.
struct fp8_table {
  alignas(16) uint16_t normal[8];
  alignas(16) uint16_t denormal[8];
};

/// @pre `is_ordinary_fp8(scale)`
fp8_table make_fp8_table(float scale);

/// Products of such scales are normal: from 2^-9 to 448 times the scale.
inline bool is_ordinary_fp8(float scale) {
  return scale >= 0x1p-117f && scale <= 0x1p118f;
}

/// Products of such scales are normal: from .5 to 6 times 2^(scale - 127).
inline bool is_ordinary_mxfp4(uint8_t scale) {
  return scale >= 2 && scale <= 252;
}

struct quant_loops {
  /// `count` codes of one scale, one after the other.
  void (*fp8_to_bf16)(const uint8_t* codes, const fp8_table& table,
                      size_t count, bf16* out);
  void (*fp8_to_f32)(const uint8_t* codes, float scale, size_t count,
                     float* out);
  /// A step of a panel: codes [16 pairs][64 columns], scales [64 columns] to
  /// bf16 [16 pairs][64 columns][2].
  void (*mxfp4_to_panel)(const uint8_t* codes, const uint8_t* scales,
                         bf16* out);
  /// 32 codes of one scale, two a byte.
  void (*mxfp4_to_f32)(const uint8_t* codes, float scale, float* out);
};

const quant_loops& quant_loops_for(isa level);

} // namespace troupe::kernels
