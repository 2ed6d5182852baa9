// A known sequence of tokens through the forward pass, in chunks, with the
// logits of every row: what `eval logits` and perplexity are made of.
#pragma once

#include "runtime/engine/local_generator.hpp"

#include <functional>
#include <span>

namespace troupe {

struct sequence_pass_options {
  uint32_t chunk = 64; ///< Rows per pass.
  hidden_capture capture = hidden_capture::none;
};

/// Takes the results of one chunk; `first` is the position of its first row.
/// Returns false to stop.
using chunk_sink = std::function<bool(uint32_t first, const pass_output&)>;

/// Runs `ids` from position 0 on, alone in a cache of its own. Errors:
/// invalid_argument (empty, longer than the context, an id outside the
/// vocabulary), out_of_memory, not_finite.
result<void> run_sequence(std::span<const token_id> ids,
                          const local_model& model, kernels::lanes& pool,
                          sequence_pass_options options,
                          const chunk_sink& sink);

/// Logits (and hidden states) of all rows of a sequence.
struct sequence_output {
  size_t vocab = 0;
  std::vector<float> logits;              ///< [tokens, vocab]
  std::vector<std::vector<float>> hidden; ///< as in `pass_output`
};

/// `run_sequence`, collected.
result<sequence_output> evaluate_sequence(std::span<const token_id> ids,
                                          const local_model& model,
                                          kernels::lanes& pool,
                                          sequence_pass_options options);

} // namespace troupe
