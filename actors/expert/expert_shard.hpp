// The EXPERT SHARD actor: one MoE layer's experts on one node. FALLBACK is the
// same actor over all layers, in the head (actors/fallback/fallback.hpp).
#pragma once

#include "actors/expert/expert_server.hpp"
#include "actors/interfaces.hpp"

namespace troupe {

struct expert_shard_state {
  static inline const char* name = "expert_shard";

  std::unique_ptr<expert_server> server;
};

/// @param services What it serves: `limits.layers` says which layers.
expert_shard_actor::behavior_type
expert_shard(expert_shard_actor::stateful_pointer<expert_shard_state> self,
             std::shared_ptr<const expert_services> services);

} // namespace troupe
