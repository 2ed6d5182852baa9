// Vector twins of kernels/math.hpp for Highway targets, with equal bits, and
// the few helpers every row kernel needs. Included once per target through
// foreach_target.h; include <hwy/highway.h> (see kernels/simd.hpp) before it.
#if defined(TROUPE_KERNELS_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_MATH_INL
#undef TROUPE_KERNELS_MATH_INL
#else
#define TROUPE_KERNELS_MATH_INL
#endif

#include "kernels/math.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// a * b + c with one rounding, also on targets without such an instruction.
template <class D, class V>
HWY_INLINE V fused(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hwy::HWY_NAMESPACE::MulAdd(a, b, c);
#else
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t lanes_max = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> xs[lanes_max];
  HWY_ALIGN hn::TFromD<D> ys[lanes_max];
  HWY_ALIGN hn::TFromD<D> zs[lanes_max];
  hn::Store(a, d, xs);
  hn::Store(b, d, ys);
  hn::Store(c, d, zs);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    zs[i] = std::fma(xs[i], ys[i], zs[i]);
  return hn::Load(d, zs);
#endif
}

/// a > b ? a : b, lane by lane; b when either is NaN, on every target.
template <class V>
HWY_INLINE V greater_of(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Gt(a, b), a, b);
}

/// e^x of f32 lanes: the bits of the scalar `troupe::kernels::exp_f32`.
template <class D, class V>
HWY_INLINE V exp_f32(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  namespace ec = exp_constants;
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, ec::round_magic);
  const V shifted = fused(d, x, hn::Set(d, ec::log2e), magic);
  const V n = hn::Sub(shifted, magic);
  V r = fused(d, n, hn::Set(d, -ec::ln2_high), x);
  r = fused(d, n, hn::Set(d, -ec::ln2_low), r);
  V q = fused(d, hn::Set(d, ec::q5), r, hn::Set(d, ec::q4));
  q = fused(d, q, r, hn::Set(d, ec::q3));
  q = fused(d, q, r, hn::Set(d, ec::q2));
  q = fused(d, q, r, hn::Set(d, ec::q1));
  q = fused(d, q, r, hn::Set(d, ec::q0));
  const V p = hn::Add(fused(d, hn::Mul(r, r), q, r), hn::Set(d, 1.0F));
  const auto power = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto half = hn::ShiftRight<1>(power);
  const auto bias = hn::Set(di, 127);
  const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V scale2 =
    hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(power, half), bias)));
  const V y = hn::Mul(hn::Mul(p, scale1), scale2);
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V low =
    hn::IfThenElse(hn::Lt(x, hn::Set(d, ec::zero_below)), hn::Zero(d), y);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, ec::overflow_above)), infinity,
                        low);
}

/// 1 / (1 + e^-x): the bits of the scalar `sigmoid_f32`.
template <class D, class V>
HWY_INLINE V sigmoid_f32(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_f32(d, hn::Neg(x))));
}

/// x / (1 + e^-x): the bits of the scalar `silu_f32`.
template <class D, class V>
HWY_INLINE V silu_f32(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exp_f32(d, hn::Neg(x))));
}

/// ln(1 + e^x): the bits of the scalar `softplus_f32`.
template <class D, class V>
HWY_INLINE V softplus_f32(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  namespace sc = softplus_constants;
  const V u = exp_f32(d, hn::Neg(hn::Abs(x)));
  const V s = hn::Div(u, hn::Add(hn::Set(d, 2.0F), u));
  const V z = hn::Mul(s, s);
  V p = fused(d, hn::Set(d, sc::c7), z, hn::Set(d, sc::c6));
  p = fused(d, p, z, hn::Set(d, sc::c5));
  p = fused(d, p, z, hn::Set(d, sc::c4));
  p = fused(d, p, z, hn::Set(d, sc::c3));
  p = fused(d, p, z, hn::Set(d, sc::c2));
  p = fused(d, p, z, hn::Set(d, sc::c1));
  const V twice = hn::Add(s, s);
  return hn::Add(greater_of(x, hn::Zero(d)),
                 fused(d, hn::Mul(twice, z), p, twice));
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#endif
