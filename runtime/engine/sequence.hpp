// One request being generated, as the scheduler sees it.
//
//   waiting --schedule--> running --last token--> finished
//      ^--------preempt------'
#pragma once

#include "runtime/engine/block_manager.hpp"
#include "runtime/engine/request_ledger.hpp"

namespace troupe {

enum class sequence_state : uint8_t { waiting, running, finished };

struct sequence {
  sequence_id id;
  uint64_t arrival = 0; ///< Order of `add`: lower is older.
  sequence_state state = sequence_state::waiting;
  std::vector<token_id> tokens; ///< Prompt, then generated.
  uint32_t prompt_tokens = 0;   ///< The first so many of `tokens`.
  uint32_t computed = 0;        ///< Tokens whose keys and values are cached.
  uint32_t computed_max = 0;    ///< The most `computed` ever was.
  bool in_flight = false;       ///< Has rows in a batch not yet answered.
  bool ending = false;          ///< Cancelled while in flight.
  block_table blocks;
  sampling_params params;

  /// Generated tokens.
  uint32_t generated() const noexcept {
    return static_cast<uint32_t>(tokens.size()) - prompt_tokens;
  }

  /// Tokens whose keys and values are still to be computed; 1 in decode.
  uint32_t pending() const noexcept {
    return static_cast<uint32_t>(tokens.size()) - computed;
  }
};

} // namespace troupe
