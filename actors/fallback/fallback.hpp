// The FALLBACK actor: the head's own experts. It serves the pairs placed LOCAL
// and those rerouted from nodes, for every layer, from one bounded store that
// loads from the local checkpoint on demand. Same language as EXPERT SHARD.
#pragma once

#include "actors/expert/expert_behavior.hpp"
#include "actors/interfaces.hpp"

namespace troupe {

struct fallback_state {
  static inline const char* name = "fallback";

  std::unique_ptr<expert_server> server;
};

expert_shard_actor::behavior_type
fallback(expert_shard_actor::stateful_pointer<fallback_state> self,
         std::shared_ptr<const expert_services> services);

} // namespace troupe
