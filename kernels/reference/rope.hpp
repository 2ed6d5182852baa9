// Scalar twin of kernels/rope.hpp: the definition, with equal bits.
#pragma once

#include "kernels/rope.hpp"

namespace troupe::kernels::reference {

/// As kernels::apply_rope, on the calling thread; `options.isa` is ignored.
void apply_rope(const rope_options& options, matrix_view<const float> angles,
                matrix_view<float> x);

} // namespace troupe::kernels::reference
