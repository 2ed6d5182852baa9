// Scalar twin of kernels/norm.hpp: the definition, with equal bits.
#pragma once

#include "kernels/norm.hpp"

namespace troupe::kernels::reference {

/// As kernels::rms_norm_heads, on the calling thread; `options.isa` is ignored.
void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y);

} // namespace troupe::kernels::reference
