#include "actors/router/router.hpp"

#include "actors/transport/cluster_system.hpp"

namespace troupe {

namespace {

void report_failure(caf::scheduled_actor* self, const actor_directory& known,
                    const moe_request& x, error why) {
  moe_done failed;
  failed.pass = x.pass;
  failed.layer = x.layer;
  failed.failure = std::move(why);
  send_to(self, known.backbone, std::move(failed));
}

} // namespace

result<routing> router_state::choose(const moe_request& x) {
  return route(services.config, x, lanes, services.score_bias);
}

router_actor::behavior_type
router(router_actor::stateful_pointer<router_state> self,
       router_services services) {
  use_quiet_handlers(*self);
  self->state.services = std::move(services);
  return {
    [=](const route_request& x) {
      auto& state = self->state;
      auto known = state.services.directory->read();
      auto choice = state.choose(*x.request);
      if (!choice) {
        report_failure(self, *known, *x.request, std::move(choice.error()));
        return;
      }
      dispatch_request next{x.request,
                            std::make_shared<const routing>(std::move(*choice)),
                            x.trace};
      send_to(self, known->dispatcher(x.request->layer), std::move(next));
    },
  };
}

} // namespace troupe
