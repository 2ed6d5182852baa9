// Rounding of short runs of f32 to bf16, by ISA. Internal to kernels/.
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/isa.hpp"

#include <cstddef>

namespace troupe::kernels {

/// Rounds `count` values like `to_bf16`.
using round_run = void (*)(const float* values, size_t count, bf16* out);

/// Returns the loop for this ISA.
round_run rounding_for(isa level);

} // namespace troupe::kernels
