// Gating functions of feed-forward layers, element by element in f32 with our
// own exp: the same bits on every machine.
#pragma once

#include "kernels/isa.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace troupe::kernels {

enum class activation_kind : uint8_t {
  silu,          ///< silu(gate) * up
  gelu_tanh,     ///< gelu(gate), tanh form, * up
  clamped_swish, ///< (up + 1) * gate * sigmoid(alpha * gate), both clamped
};

std::string_view to_string(activation_kind kind);
std::optional<activation_kind> activation_from_name(std::string_view name);

struct activation_options {
  activation_kind kind = activation_kind::silu;
  float alpha = 1.702f; ///< clamped_swish only.
  float limit = 7.0f;   ///< gate <= limit, |up| <= limit; clamped_swish only.
};

/// gate[i] = f(gate[i], up[i]), in place.
void gated_activation(const activation_options& options, isa level,
                      std::span<float> gate, std::span<const float> up);

} // namespace troupe::kernels
