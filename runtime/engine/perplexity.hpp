// Mean negative log-likelihood of a text: cut into consecutive blocks, each
// scored from its second token on, no token added.
#pragma once

#include "runtime/engine/local_generator.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace troupe {

struct perplexity_options {
  uint32_t context = 256;  ///< Tokens per block, at least 2.
  uint32_t blocks_max = 0; ///< Score only the first so many; 0: all.
  /// Told how many tokens of how many are done, after each block; may be empty.
  std::function<void(size_t done, size_t total)> progress = {};
};

struct perplexity_report {
  double nll = 0;      ///< Mean, in nats per scored token.
  uint64_t tokens = 0; ///< Scored.
};

/// Errors: invalid_argument (fewer than two tokens, context too small or larger
/// than the model's), out_of_memory, not_finite.
result<perplexity_report> measure_perplexity(std::span<const token_id> ids,
                                             const local_model& model,
                                             perplexity_options options,
                                             kernels::lanes& pool);

} // namespace troupe
