// Scalar twin of kernels/gated_delta.hpp: the definition, with equal bits.
#pragma once

#include "kernels/gated_delta.hpp"

namespace troupe::kernels::reference {

/// As kernels::gated_delta, on the calling thread; `options.isa` is ignored.
void gated_delta(const gated_delta_options& options,
                 const gated_delta_input& input,
                 std::span<const sequence_run> runs, matrix_view<float> y);

} // namespace troupe::kernels::reference
