// Vector helpers of the row kernels, compiled once per Highway target: rows of
// f32 or bf16 as f32 vectors, and reductions over 64 virtual lanes whose order
// does not depend on the vector width.
#if defined(TROUPE_KERNELS_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_SIMD_INL
#undef TROUPE_KERNELS_SIMD_INL
#else
#define TROUPE_KERNELS_SIMD_INL
#endif

#include "kernels/dtype.hpp"
#include "kernels/math-inl.hpp"

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using f32_tag = hn::ScalableTag<float>;
using f32_vec = hn::Vec<f32_tag>;
using bf16_bits_tag = hn::Rebind<uint16_t, f32_tag>;

/// f32 elements of a vector.
inline constexpr size_t width = hn::MaxLanes(f32_tag());
/// Partial sums of a reduction, and the vectors that hold them.
inline constexpr size_t partials = 64;
inline constexpr size_t partial_vectors = partials / width;
static_assert(partials % width == 0);

HWY_INLINE f32_vec load_row(const float* x) {
  return hn::LoadU(f32_tag(), x);
}

HWY_INLINE f32_vec load_row(const bf16* x) {
  const f32_tag d;
  const hn::RebindToUnsigned<f32_tag> du;
  const auto bits =
    hn::LoadU(bf16_bits_tag(), reinterpret_cast<const uint16_t*>(x));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

HWY_INLINE void store_row(f32_vec x, float* y) {
  hn::StoreU(x, f32_tag(), y);
}

/// Rounds like `to_bf16`: to nearest even, NaN to a quiet NaN.
HWY_INLINE void store_row(f32_vec x, bf16* y) {
  const f32_tag d;
  const hn::RebindToUnsigned<f32_tag> du;
  const hn::RebindToSigned<f32_tag> di;
  const auto bits = hn::BitCast(du, x);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(upper, hn::Set(du, 1u));
  const auto rounded =
    hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu))));
  const auto quiet = hn::Or(upper, hn::Set(du, 0x40u));
  const auto is_number = hn::RebindMask(du, hn::Eq(x, x));
  const auto chosen = hn::IfThenElse(is_number, rounded, quiet);
  (void)d;
  hn::StoreU(hn::DemoteTo(bf16_bits_tag(), hn::BitCast(di, chosen)),
             bf16_bits_tag(), reinterpret_cast<uint16_t*>(y));
}

/// The first `n` < width elements, the others zero.
template <class T>
HWY_INLINE f32_vec load_tail(const T* x, size_t n) {
  T padded[width] = {};
  for (size_t i = 0; i < n; ++i)
    padded[i] = x[i];
  return load_row(padded);
}

template <class T>
HWY_INLINE void store_tail(f32_vec x, T* y, size_t n) {
  T padded[width];
  store_row(x, padded);
  for (size_t i = 0; i < n; ++i)
    y[i] = padded[i];
}

/// Folds the lanes of a vector: the upper half into the lower one, until one is
/// left. `both` takes the lower operand first.
template <class D, class Both>
HWY_INLINE float fold_lanes(D d, hn::Vec<D> x, Both both) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return fold_lanes(
      half, both(hn::LowerHalf(half, x), hn::UpperHalf(half, x)), both);
  } else {
    x = both(x, hn::Shuffle1032(x));
    x = both(x, hn::Shuffle2301(x));
  }
#else
  (void)both;
#endif
  (void)d;
  return hn::GetLane(x);
}

/// Folds 64 partial results: lane j takes lane j + 32, then j + 16, ... + 1.
template <class Both>
HWY_INLINE float fold_partials(f32_vec (&p)[partial_vectors], Both both) {
  for (size_t half = partial_vectors / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      p[i] = both(p[i], p[i + half]);
  return fold_lanes(f32_tag(), p[0], both);
}

HWY_INLINE float sum_partials(f32_vec (&p)[partial_vectors]) {
  return fold_partials(p, [](auto a, auto b) { return hn::Add(a, b); });
}

HWY_INLINE float max_partials(f32_vec (&p)[partial_vectors]) {
  return fold_partials(p, [](auto a, auto b) { return greater_of(a, b); });
}

/// Steps n elements into 64 partial sums and folds them. Only the first `valid`
/// lanes of a step are elements, the others hold 0.
template <class Step>
HWY_INLINE float reduce_row(const float* x, size_t n, Step step) {
  const f32_tag d;
  f32_vec sums[partial_vectors];
  for (auto& sum : sums)
    sum = hn::Zero(d);
  size_t i = 0;
  for (; i + partials <= n; i += partials)
    for (size_t v = 0; v < partial_vectors; ++v)
      sums[v] = step(sums[v], load_row(x + i + v * width), width);
  for (size_t v = 0; i < n; ++v, i += width)
    sums[v] = i + width <= n ? step(sums[v], load_row(x + i), width)
                             : step(sums[v], load_tail(x + i, n - i), n - i);
  return sum_partials(sums);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#endif
