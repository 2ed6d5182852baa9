// Scalar twin of kernels/router.hpp: the definition, with equal bits.
#pragma once

#include "kernels/router.hpp"

namespace troupe::kernels::reference {

/// As kernels::route, on the calling thread; `options.isa` is ignored.
void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights);

} // namespace troupe::kernels::reference
