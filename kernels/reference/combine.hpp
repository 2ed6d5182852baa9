// Scalar twin of kernels/combine.hpp: the definition, with equal bits.
#pragma once

#include "kernels/combine.hpp"

namespace troupe::kernels::reference {

/// As kernels::combine, on the calling thread; `options.isa` is ignored.
void combine(const combine_options& options, activation_view pairs,
             matrix_view<const float> weights, matrix_view<float> y);

} // namespace troupe::kernels::reference
