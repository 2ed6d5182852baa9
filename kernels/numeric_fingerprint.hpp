// A hash of what this machine's kernels compute: nodes whose fingerprints are
// equal give equal bits at the shapes in question.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::kernels {

/// A linear layer in use, W[outputs, inputs].
struct probe_shape {
  size_t outputs = 0;
  size_t inputs = 0;
};

/// Returns a hash of the outputs of every kernel in use over fixed
/// pseudo-random inputs at `shapes`. Equal across ISAs in bf16 mode.
uint64_t numeric_fingerprint(std::span<const probe_shape> shapes,
                             compute_options options, lanes& pool);

} // namespace troupe::kernels
