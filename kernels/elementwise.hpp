// Row helpers between the larger kernels: residual sums, change of type, and
// the check that a reply is finite.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

namespace troupe::kernels {

/// x += y. y: f32 or bf16, of the shape of x.
void add_rows(isa level, matrix_view<float> x, activation_view y, lanes& pool);

/// y = x, from f32 or bf16 to f32 or bf16 (rounded to nearest even). Views of
/// equal type are copied bit for bit.
void convert_rows(isa level, activation_view x, output_view y, lanes& pool);

/// Returns whether no element of `x` (f32 or bf16) is NaN or infinite.
bool all_finite(isa level, activation_view x);

} // namespace troupe::kernels
