// Scalar twin of kernels/norm.hpp: the definition, with equal bits.
#pragma once

#include "kernels/norm.hpp"

namespace troupe::kernels::reference {

// As the functions of kernels/norm.hpp, on the calling thread; `options.isa` is
// ignored.

void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y);

void rms_norm_gated(const norm_options& options, const gated_norm_input& input,
                    std::span<const float> weight, output_view y);

void layer_norm(const norm_options& options, matrix_view<const float> x,
                const norm_affine& affine, output_view y);

} // namespace troupe::kernels::reference
