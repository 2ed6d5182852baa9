// Scalar twin of kernels/short_conv.hpp: the definition, with equal bits.
#pragma once

#include "kernels/short_conv.hpp"

namespace troupe::kernels::reference {

/// As kernels::short_conv, on the calling thread; `options.isa` is ignored.
void short_conv(const short_conv_options& options, matrix_view<const float> x,
                std::span<const sequence_run> runs, matrix_view<float> y);

} // namespace troupe::kernels::reference
