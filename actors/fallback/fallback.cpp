#include "actors/fallback/fallback.hpp"

#include "actors/transport/cluster_system.hpp"

namespace troupe {

expert_shard_actor::behavior_type
fallback(expert_shard_actor::stateful_pointer<fallback_state> self,
         std::shared_ptr<const expert_services> services) {
  use_quiet_handlers(*self);
  self->state.server = std::make_unique<expert_server>(std::move(services));
  return expert_behavior(self);
}

} // namespace troupe
