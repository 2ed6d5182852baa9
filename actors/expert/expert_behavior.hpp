// The behaviour that EXPERT SHARD and FALLBACK share: pass messages on to the
// expert_server in the actor's state.
#pragma once

#include "actors/expert/expert_server.hpp"
#include "actors/interfaces.hpp"

namespace troupe {

/// @pre `self->state.server` is set.
template <class Self>
expert_shard_actor::behavior_type expert_behavior(Self* self) {
  return {
    [=](const expert_batch& x) {
      self->state.server->batch(x, self->current_sender(), steady::now());
    },
    [=](const expert_rows_piece& x) {
      self->state.server->rows(x, steady::now());
    },
  };
}

} // namespace troupe
