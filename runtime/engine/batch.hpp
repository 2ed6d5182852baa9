// One step's work for the forward pass: rows of any number of sequences,
// prefill chunks and decode rows mixed. Owns copies of its block tables, so
// that nothing that happens to a sequence changes a batch in flight.
#pragma once

#include "runtime/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// What a row is computed for.
enum class row_output : uint8_t {
  none,   ///< Only to fill the KV cache (all rows of a chunk but the last).
  logits, ///< Its logits are wanted.
};

/// One token of one sequence.
struct batch_row {
  token_id token = 0;
  uint32_t position = 0; ///< in its sequence, from 0
  uint32_t slot = 0;     ///< index into `batch::slots`
  row_output output = row_output::none;
};

/// Which part of a sequence's life a slot's rows belong to.
enum class slot_phase : uint8_t {
  prefill, ///< Tokens known before: the prompt, or recomputation.
  decode,  ///< The newest token alone.
};

/// One sequence's part of a batch.
struct batch_slot {
  sequence_id sequence;
  slot_phase phase = slot_phase::decode;
  uint32_t rows = 0;
  std::vector<uint32_t> blocks; ///< KV block ids, by position / block_tokens
  /// Tokens of the request's prompt: some RoPE goes by it.
  uint32_t prompt_tokens = 0;
  /// Place in the state arena; models with recurrent layers.
  std::optional<uint32_t> state;
};

/// Rows of one slot are consecutive and ascend in position; the KV cache
/// already holds every earlier position of that sequence.
struct batch {
  pass_id pass;
  std::vector<batch_slot> slots;
  std::vector<batch_row> rows;
};

} // namespace troupe
