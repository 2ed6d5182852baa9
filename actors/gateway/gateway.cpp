#include "actors/gateway/gateway.hpp"

#include "actors/transport/cluster_system.hpp"

namespace troupe {

gateway_actor::behavior_type
gateway(gateway_actor::stateful_pointer<gateway_state> self,
        std::shared_ptr<const actor_directory_view> directory) {
  use_quiet_handlers(*self);
  self->state.directory = std::move(directory);
  auto pass_on = [=](auto& x) {
    send_to(self, self->state.directory->read()->backbone, x);
  };
  return {
    [=](const sequence_opened& x) { pass_on(x); },
    [=](const sequence_cancelled& x) { pass_on(x); },
  };
}

} // namespace troupe
