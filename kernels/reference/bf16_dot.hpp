// The bf16 dot product as its definition reads (kernels/bf16_rule.hpp): the
// oracle of every kernel, and the kernel of machines without AVX2.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>
#include <span>

namespace troupe::kernels::reference {

/// Returns a * b + c rounded once, with denormal inputs and results flushed to
/// zero, whatever the flags of the thread. `a` and `b` hold bf16 values.
float fma_flushed(float a, float b, float c);

/// Returns a + b with denormals flushed, whatever the flags of the thread.
float add_flushed(float a, float b);

/// Returns the dot product of `x` and `w` (equal lengths; zero padded to a
/// multiple of 32).
float bf16_dot(std::span<const bf16> x, std::span<const bf16> w);

} // namespace troupe::kernels::reference
