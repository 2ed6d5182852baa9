// Twin of kernels/rope_scaling.hpp: whole arrays, step by step and in f32, with
// the C library's functions, as the frameworks do it that checkpoints are
// trained with. It agrees with the kernel to f32 precision, not in bits.
#pragma once

#include "kernels/rope_scaling.hpp"

#include <vector>

namespace troupe::kernels::reference {

/// As kernels::rope_inverse_frequencies.
std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim,
                                            const rope_scaling& scaling,
                                            rope_set set);

} // namespace troupe::kernels::reference
