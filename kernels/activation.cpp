// Vector loops of the gating functions, chosen by ISA; equal bits on all.
#include "kernels/activation.hpp"

#include "kernels/simd.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// gelu(x) = x * sigmoid(2 z), z = sqrt(2 / pi) * (x + 0.044715 x^3): the tanh
/// form (Hendrycks and Gimpel, 2016) with tanh written as a sigmoid.
HWY_INLINE f32_vec gelu(f32_vec x) {
  const f32_tag d;
  const auto cube = hn::Mul(hn::Mul(x, x), x);
  const auto inner = hn::Add(x, hn::Mul(hn::Set(d, 0.044715F), cube));
  const auto twice = hn::Mul(hn::Set(d, 1.5957691216057308F), inner);
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), exp_f32(d, hn::Neg(twice))));
}

/// min(x, limit), NaN stays.
HWY_INLINE f32_vec at_most(f32_vec x, f32_vec limit) {
  return hn::IfThenElse(hn::Gt(x, limit), limit, x);
}

HWY_INLINE f32_vec at_least(f32_vec x, f32_vec limit) {
  return hn::IfThenElse(hn::Lt(x, limit), limit, x);
}

HWY_INLINE f32_vec clamped_swish(const activation_options& options,
                                 f32_vec gate, f32_vec up) {
  const f32_tag d;
  const auto limit = hn::Set(d, options.limit);
  const auto g = at_most(gate, limit);
  const auto u = at_least(at_most(up, limit), hn::Neg(limit));
  const auto scaled = hn::Mul(g, hn::Set(d, options.alpha));
  const auto swish = hn::Mul(g, sigmoid_f32(d, scaled));
  return hn::Mul(hn::Add(u, hn::Set(d, 1.0F)), swish);
}

template <class Function>
HWY_INLINE void for_each(std::span<float> gate, std::span<const float> up,
                         Function f) {
  size_t i = 0;
  for (; i + width <= gate.size(); i += width)
    store_row(f(load_row(&gate[i]), load_row(&up[i])), &gate[i]);
  const size_t rest = gate.size() - i;
  if (rest > 0)
    store_tail(f(load_tail(&gate[i], rest), load_tail(&up[i], rest)), &gate[i],
               rest);
}

void gate_all(const activation_options& options, std::span<float> gate,
              std::span<const float> up) {
  const f32_tag d;
  switch (options.kind) {
  case activation_kind::silu:
    return for_each(gate, up, [d](f32_vec g, f32_vec u) {
      return hn::Mul(silu_f32(d, g), u);
    });
  case activation_kind::gelu_tanh:
    return for_each(gate, up,
                    [](f32_vec g, f32_vec u) { return hn::Mul(gelu(g), u); });
  case activation_kind::clamped_swish:
    return for_each(gate, up, [&](f32_vec g, f32_vec u) {
      return clamped_swish(options, g, u);
    });
  }
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels {

namespace {

constexpr std::array<std::string_view, 3> names{"silu", "gelu_tanh",
                                                "clamped_swish"};

} // namespace

std::string_view to_string(activation_kind kind) {
  return names.at(static_cast<size_t>(kind));
}

std::optional<activation_kind> activation_from_name(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<activation_kind>(found - names.begin());
}

void gated_activation(const activation_options& options, isa level,
                      std::span<float> gate, std::span<const float> up) {
  TROUPE_ASSERT(gate.size() == up.size());
  TROUPE_SIMD_PICK(level, gate_all)(options, gate, up);
}

} // namespace troupe::kernels
#endif
