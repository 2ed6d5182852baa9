// The GATEWAY actor: the door between those who want text (HTTP, the command
// line) and BACKBONE. What it passes on stands in the request ledger already,
// so nothing is lost when BACKBONE is being restarted: the new one finds it
// there.
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/interfaces.hpp"

#include <memory>

namespace troupe {

struct gateway_state {
  static inline const char* name = "gateway";

  std::shared_ptr<const actor_directory_view> directory;
};

gateway_actor::behavior_type
gateway(gateway_actor::stateful_pointer<gateway_state> self,
        std::shared_ptr<const actor_directory_view> directory);

} // namespace troupe
