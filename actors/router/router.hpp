// The ROUTER actor: turns the router's scores into experts and weights by the
// family's rule and hands them to the layer's DISPATCHER.
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/interfaces.hpp"
#include "runtime/engine/local_experts.hpp"

#include <memory>
#include <vector>

namespace troupe {

struct router_services {
  router_config config;
  std::shared_ptr<const actor_directory_view> directory;
  /// Added to the scores, to skew the load in drills. [experts], or empty.
  std::vector<float> score_bias;
};

struct router_state {
  static inline const char* name = "router";

  /// Chooses; the failure names the row that has no finite score.
  result<routing> choose(const moe_request& x);

  router_services services;
  /// Choosing is too little work to be spread: it runs on the caller.
  kernels::lanes lanes{kernels::lanes_options{.count = 0}};
};

router_actor::behavior_type
router(router_actor::stateful_pointer<router_state> self,
       router_services services);

} // namespace troupe
