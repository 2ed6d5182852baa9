// Row helpers between the larger kernels: residual sums, biases, multipliers,
// gates, change of type, and the check that a reply is finite. No reductions:
// every element is computed by itself.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <span>

namespace troupe::kernels {

/// x += y. y: f32 or bf16, of the shape of x.
void add_rows(isa level, matrix_view<float> x, activation_view y, lanes& pool);

/// Rows (f32 or bf16), each times one number.
struct scaled_rows {
  activation_view rows;
  float factor = 1.0f; ///< Of a residual or embedding, for example.
};

/// x = fma(factor, y, x): of `y.factor` 1 the bits of `add_rows`.
void add_scaled_rows(isa level, matrix_view<float> x, const scaled_rows& y,
                     lanes& pool);

/// Rows (f32 or bf16), each with the logit of its gate.
struct gated_rows {
  activation_view rows;
  matrix_view<const float> gates; ///< [rows, 1]
};

/// x = fma(sigmoid(gate of the row), y, x), as of an expert that all rows
/// share.
void add_gated_rows(isa level, matrix_view<float> x, const gated_rows& y,
                    lanes& pool);

/// x += bias, the same for every row. bias: as long as a row, or empty: nothing
/// happens.
void add_bias(isa level, matrix_view<float> x, std::span<const float> bias,
              lanes& pool);

/// x *= factor.
void scale_rows(isa level, matrix_view<float> x, float factor, lanes& pool);

/// x *= y. y: f32 or bf16, of the shape of x.
void multiply_rows(isa level, matrix_view<float> x, activation_view y,
                   lanes& pool);

/// x *= sigmoid(y). y: f32 or bf16, of the shape of x.
void gate_rows(isa level, matrix_view<float> x, activation_view y, lanes& pool);

/// x = min(max(x, -limit), limit); NaN stays. @pre limit >= 0
void clip_rows(isa level, matrix_view<float> x, float limit, lanes& pool);

/// y = x, from f32 or bf16 to f32 or bf16 (rounded to nearest even). Views of
/// equal type are copied bit for bit.
void convert_rows(isa level, activation_view x, output_view y, lanes& pool);

/// Returns whether no element of `x` (f32 or bf16) is NaN or infinite.
bool all_finite(isa level, activation_view x);

} // namespace troupe::kernels
