// The weights of a softmax over one row of logits, not divided by their sum.
#pragma once

#include "kernels/isa.hpp"

#include <span>

namespace troupe::kernels {

/// weights[i] = e^((logits[i] - best) / temperature), the bits of the scalar
/// `exp_f32` on every ISA. @pre equal lengths, temperature > 0
void softmax_weights(isa level, std::span<const float> logits, float best,
                     float temperature, std::span<float> weights);

} // namespace troupe::kernels
