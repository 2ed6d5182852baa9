// Expansion by arithmetic on bits: an element's fraction picks an entry of a
// table of 8, its exponent is added to the entry's bits. Compiled once per
// target.
#include "kernels/quant_simd.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/quant.hpp"

#include <bit>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void fp8_to_bf16(const uint8_t* codes, const fp8_table& table, size_t count,
                 bf16* out) {
  for (size_t i = 0; i < count; ++i) {
    const unsigned code = codes[i], exponent = code & 0x78u;
    const unsigned value = exponent == 0
                             ? table.denormal[code & 7u]
                             : table.normal[code & 7u] + (exponent << 4u);
    const unsigned number = (code & 0x7fu) == 0x7fu ? 0x7fc0u : value;
    out[i].bits = static_cast<uint16_t>(number | (code & 0x80u) << 8u);
  }
}

void fp8_to_f32(const uint8_t* codes, float scale, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = std::bit_cast<float>(fp8_value_f32(codes[i], 1.0f)) * scale;
}

void mxfp4_to_panel(const uint8_t* codes, const uint8_t* scales, bf16* out) {
  constexpr size_t columns = 64, bytes = 16 * columns;
  for (size_t i = 0; i < bytes; ++i) {
    const auto scale = scales[i % columns];
    out[2 * i] = mxfp4_value_bf16(static_cast<uint8_t>(codes[i] & 15u), scale);
    out[2 * i + 1] =
      mxfp4_value_bf16(static_cast<uint8_t>(codes[i] >> 4u), scale);
  }
}

void mxfp4_to_f32(const uint8_t* codes, float scale, float* out) {
  const auto value = [&](unsigned code) {
    return std::bit_cast<float>(
             mxfp4_value_f32(static_cast<uint8_t>(code), 127)) *
           scale;
  };
  for (size_t i = 0; i < mxfp4_block_bytes; ++i) {
    out[2 * i] = value(codes[i] & 15u);
    out[2 * i + 1] = value(codes[i] >> 4u);
  }
}

#else

using u16s = hn::ScalableTag<uint16_t>;
using u32s = hn::ScalableTag<uint32_t>;
using f32s = hn::ScalableTag<float>;
using halves = hn::Rebind<uint8_t, u16s>;   ///< as many bytes as u16 lanes
using quarters = hn::Rebind<uint8_t, u32s>; ///< as many bytes as u32 lanes
/// Ahead of a stream from memory; a panel ends where the next one begins.
constexpr size_t prefetch_bytes = 8192;

using u16_vec = hn::Vec<u16s>;
using u32_vec = hn::Vec<u32s>;

/// Entry index[i] < 8 of a table of 8 that fills each 128 bits of `table`.
HWY_INLINE u16_vec look_up(u16_vec table, u16_vec index) {
  const u16s d;
  const hn::Repartition<uint8_t, u16s> bytes;
  const auto places = hn::Add(hn::Mul(index, hn::Set(d, uint16_t{0x0202})),
                              hn::Set(d, uint16_t{0x0100}));
  return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, table),
                                             hn::BitCast(bytes, places)));
}

HWY_INLINE u16_vec load_table(const uint16_t* table) {
  return hn::LoadDup128(u16s(), table);
}

#if HWY_TARGET == HWY_AVX3

/// All 128 magnitudes, in four vectors of 32.
class fp8_expander {
public:
  explicit fp8_expander(const fp8_table& table) {
    const u16s d;
    const auto normal = load_table(table.normal);
    const auto exponents = hn::ShiftRight<3>(hn::Iota(d, uint16_t{0}));
    for (size_t i = 0; i < 4; ++i)
      magnitudes_[i] = hn::Add(
        normal, hn::ShiftLeft<7>(hn::Add(
                  exponents, hn::Set(d, static_cast<uint16_t>(4 * i)))));
    magnitudes_[0] = hn::IfThenElse(hn::FirstN(d, 8),
                                    load_table(table.denormal), magnitudes_[0]);
    magnitudes_[3] = hn::IfThenElse(hn::FirstN(d, 31), magnitudes_[3],
                                    hn::Set(d, uint16_t{0x7fc0}));
  }

  HWY_INLINE u16_vec operator()(u16_vec code) const {
    const u16s d;
    // The instruction reads the lower 6 bits of an index. Highway has it for
    // wider elements only.
    const u16_vec lower{_mm512_permutex2var_epi16(magnitudes_[0].raw, code.raw,
                                                  magnitudes_[1].raw)};
    const u16_vec upper{_mm512_permutex2var_epi16(magnitudes_[2].raw, code.raw,
                                                  magnitudes_[3].raw)};
    const auto is_upper = hn::TestBit(code, hn::Set(d, uint16_t{64}));
    return hn::OrAnd(hn::IfThenElse(is_upper, upper, lower),
                     hn::ShiftLeft<8>(code), hn::Set(d, uint16_t{0x8000}));
  }

private:
  u16_vec magnitudes_[4];
};

#else

class fp8_expander {
public:
  explicit fp8_expander(const fp8_table& table)
    : normal_(load_table(table.normal)), denormal_(load_table(table.denormal)) {
  }

  HWY_INLINE u16_vec operator()(u16_vec code) const {
    const u16s d;
    const auto all_ones = hn::Set(d, uint16_t{0x7f});
    const auto fraction = hn::And(code, hn::Set(d, uint16_t{7}));
    const auto exponent = hn::And(code, hn::Set(d, uint16_t{0x78}));
    const auto larger =
      hn::Add(look_up(normal_, fraction), hn::ShiftLeft<4>(exponent));
    const auto value = hn::IfThenElse(hn::Eq(exponent, hn::Zero(d)),
                                      look_up(denormal_, fraction), larger);
    const auto number =
      hn::IfThenElse(hn::Eq(hn::And(code, all_ones), all_ones),
                     hn::Set(d, uint16_t{0x7fc0}), value);
    return hn::OrAnd(number, hn::ShiftLeft<8>(code),
                     hn::Set(d, uint16_t{0x8000}));
  }

private:
  u16_vec normal_;
  u16_vec denormal_;
};

#endif

void fp8_to_bf16(const uint8_t* codes, const fp8_table& table, size_t count,
                 bf16* out) {
  const u16s d;
  const halves bytes;
  const size_t width = hn::Lanes(d);
  const fp8_expander expander(table);
  const auto step = [&](const uint8_t* from, uint16_t* to) {
    const auto code = hn::PromoteTo(d, hn::LoadU(bytes, from));
    hn::StoreU(expander(code), d, to);
  };
  auto* to = reinterpret_cast<uint16_t*>(out);
  size_t i = 0;
  for (; i + width <= count; i += width) {
    hwy::Prefetch(codes + i + prefetch_bytes);
    step(codes + i, to + i);
  }
  if (i == count)
    return;
  uint8_t last[hn::MaxLanes(u16s())] = {};
  uint16_t expanded[hn::MaxLanes(u16s())];
  for (size_t j = i; j < count; ++j)
    last[j - i] = codes[j];
  step(last, expanded);
  for (size_t j = i; j < count; ++j)
    to[j] = expanded[j - i];
}

HWY_INLINE hn::Vec<f32s> fp8_numbers(u32_vec code) {
  const u32s d;
  const f32s f;
  const auto magnitude = hn::And(code, hn::Set(d, 0x7fu));
  const auto shifted = hn::ShiftLeft<20>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(d, 120u << 23));
  // A fraction without its leading one, made by subtracting it.
  const auto denormal =
    hn::Sub(hn::BitCast(f, hn::Add(shifted, hn::Set(d, 121u << 23))),
            hn::Set(f, 0x1p-6f));
  const auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 8u)),
                                    hn::BitCast(d, denormal), normal);
  const auto number = hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, 0x7fu)),
                                     hn::Set(d, 0x7fc00000u), value);
  const auto sign = hn::ShiftLeft<24>(hn::And(code, hn::Set(d, 0x80u)));
  return hn::BitCast(f, hn::Or(number, sign));
}

void fp8_to_f32(const uint8_t* codes, float scale, size_t count, float* out) {
  const f32s f;
  const u32s d;
  const quarters bytes;
  const size_t width = hn::Lanes(f);
  const auto factor = hn::Set(f, scale);
  const auto step = [&](const uint8_t* from, float* to) {
    const auto code = hn::PromoteTo(d, hn::LoadU(bytes, from));
    hn::StoreU(hn::Mul(fp8_numbers(code), factor), f, to);
  };
  size_t i = 0;
  for (; i + width <= count; i += width)
    step(codes + i, out + i);
  if (i == count)
    return;
  uint8_t last[hn::MaxLanes(f32s())] = {};
  float expanded[hn::MaxLanes(f32s())];
  for (size_t j = i; j < count; ++j)
    last[j - i] = codes[j];
  step(last, expanded);
  for (size_t j = i; j < count; ++j)
    out[j] = expanded[j - i];
}

/// bf16 bits of 0, .5, 1, 1.5, 2, 3, 4, 6.
alignas(16) constexpr uint16_t e2m1_bits[8] = {0x0000, 0x3f00, 0x3f80, 0x3fc0,
                                               0x4000, 0x4040, 0x4080, 0x40c0};

/// Makes bf16 of both elements of each byte: of the lower one in the lower half
/// of the lane. `exponent` is added to those that are not zero.
#if HWY_TARGET == HWY_AVX3

class mxfp4_expander {
public:
  mxfp4_expander() {
    const u16s d;
    const auto magnitudes = load_table(e2m1_bits);
    const auto is_negative =
      hn::TestBit(hn::Iota(d, uint16_t{0}), hn::Set(d, uint16_t{8}));
    values_ =
      hn::Or(magnitudes,
             hn::IfThenElseZero(is_negative, hn::Set(d, uint16_t{0x8000})));
  }

  HWY_INLINE u16_vec operator()(u32_vec byte, u16_vec exponent) const {
    const u16s d;
    const auto codes = hn::BitCast(d, hn::Or(byte, hn::ShiftLeft<12>(byte)));
    // The instruction reads the lower 5 bits of an index, and the table repeats
    // itself after 16: bits above an element do no harm.
    const u16_vec value{_mm512_permutexvar_epi16(codes.raw, values_.raw)};
    const auto is_number =
      hn::Ne(hn::And(value, hn::Set(d, uint16_t{0x7fff})), hn::Zero(d));
    return hn::IfThenElse(is_number, hn::Add(value, exponent), value);
  }

private:
  u16_vec values_;
};

#else

class mxfp4_expander {
public:
  mxfp4_expander() : magnitudes_(load_table(e2m1_bits)) {
  }

  HWY_INLINE u16_vec operator()(u32_vec byte, u16_vec exponent) const {
    const u16s d;
    const auto codes = hn::BitCast(d, hn::Or(byte, hn::ShiftLeft<12>(byte)));
    const auto magnitude = hn::And(codes, hn::Set(d, uint16_t{7}));
    const auto value = look_up(magnitudes_, magnitude);
    const auto scaled = hn::Add(
      value, hn::IfThenElseZero(hn::Ne(magnitude, hn::Zero(d)), exponent));
    return hn::OrAnd(scaled, hn::ShiftLeft<12>(codes),
                     hn::Set(d, uint16_t{0x8000}));
  }

private:
  u16_vec magnitudes_;
};

#endif

void mxfp4_to_panel(const uint8_t* codes, const uint8_t* scales, bf16* out) {
  constexpr size_t columns = 64, pairs = 16;
  constexpr size_t width = hn::MaxLanes(u32s());
  const u16s d;
  const u32s w;
  const quarters bytes;
  const mxfp4_expander expander;
  hwy::Prefetch(scales + prefetch_bytes);
  u16_vec exponents[columns / width];
  for (size_t i = 0; i < columns / width; ++i) {
    const auto scale = hn::PromoteTo(w, hn::LoadU(bytes, scales + i * width));
    const auto both = hn::BitCast(d, hn::Or(scale, hn::ShiftLeft<16>(scale)));
    // (scale - 127) << 7, modulo 2^16.
    exponents[i] =
      hn::Sub(hn::ShiftLeft<7>(both), hn::Set(d, uint16_t{127 << 7}));
  }
  auto* to = reinterpret_cast<uint16_t*>(out);
  for (size_t pair = 0; pair < pairs; ++pair) {
    hwy::Prefetch(codes + prefetch_bytes);
    for (size_t i = 0; i < columns / width; ++i) {
      const auto byte = hn::PromoteTo(w, hn::LoadU(bytes, codes));
      hn::StoreU(expander(byte, exponents[i]), d, to);
      codes += width;
      to += 2 * width;
    }
  }
}

void mxfp4_to_f32(const uint8_t* codes, float scale, float* out) {
  constexpr size_t block_bytes = 16;
  const u32s w;
  const f32s f;
  const quarters bytes;
  const mxfp4_expander expander;
  const auto factor = hn::Set(f, scale);
  const auto upper = hn::Set(w, 0xffff0000u);
  for (size_t i = 0; i < block_bytes; i += hn::Lanes(w)) {
    const auto byte = hn::PromoteTo(w, hn::LoadU(bytes, codes + i));
    const auto both = hn::BitCast(w, expander(byte, hn::Zero(u16s())));
    const auto even = hn::BitCast(f, hn::ShiftLeft<16>(both));
    const auto odd = hn::BitCast(f, hn::And(both, upper));
    hn::StoreInterleaved2(hn::Mul(even, factor), hn::Mul(odd, factor), f,
                          out + 2 * i);
  }
}

#endif

const quant_loops& loops() {
  static const quant_loops all{&fp8_to_bf16, &fp8_to_f32, &mxfp4_to_panel,
                               &mxfp4_to_f32};
  return all;
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

const quant_loops& quant_loops_for(isa level) {
  return TROUPE_SIMD_PICK(level, loops)();
}

} // namespace troupe::kernels
#endif
