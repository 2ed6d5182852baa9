// Rotary position embedding: the angles of a batch's rows once per pass, then
// applied in place to the heads of every layer.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::kernels {

/// Which two elements of a head turn together.
enum class rope_pairs : uint8_t {
  half_split,  ///< i and i + rotary_dim / 2 (Llama, Qwen in Hugging Face form)
  interleaved, ///< 2 i and 2 i + 1
};

struct rope_options {
  size_t head_dim = 0;
  size_t rotary_dim = 0; ///< Leading elements of a head that turn; even.
  rope_pairs pairs = rope_pairs::half_split;
  kernels::isa isa = best_isa();
};

/// Returns theta^(-2 i / rotary_dim), i < rotary_dim / 2, rounded to f32.
std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim);

/// Writes the cosines, then the sines of position * inverse_frequencies[i],
/// each times `scaling` (attention factor; usually 1). The angle is exact.
/// angles: [positions, 2 * inverse_frequencies.size()]; positions <= 2^21.
void rope_angles(std::span<const float> inverse_frequencies,
                 std::span<const size_t> positions, float scaling,
                 matrix_view<float> angles);

/// Turns each pair (a, b) of every head to (a cos - b sin, b cos + a sin).
/// angles: [rows, rotary_dim] of `rope_angles`; x: [rows, heads * head_dim].
void apply_rope(const rope_options& options, matrix_view<const float> angles,
                matrix_view<float> x, lanes& pool);

} // namespace troupe::kernels
