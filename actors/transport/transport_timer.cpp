// The tick: sweep the connections, run what waits for the I/O thread.
#include "actors/transport/transport_timer.hpp"

#include "actors/transport/cluster_system.hpp"
#include "actors/transport/guarded_scribe.hpp"

#include <caf/event_based_actor.hpp>

namespace troupe {

namespace {

constexpr auto interval = std::chrono::milliseconds{100};
using tick_atom = caf::atom_constant<caf::atom("tick")>;

caf::behavior transport_timer(caf::event_based_actor* self,
                              std::shared_ptr<transport_state> state) {
  use_quiet_handlers(*self);
  self->delayed_send(self, interval, tick_atom::value);
  return {
    [self, state](tick_atom) {
      state->connections.sweep(steady::now());
      for (auto& call : state->next_tick.take())
        multiplexer_of(self->system()).post(std::move(call));
      self->delayed_send(self, interval, tick_atom::value);
    },
  };
}

} // namespace

caf::actor spawn_transport_timer(caf::actor_system& sys,
                                 std::shared_ptr<transport_state> state) {
  return sys.spawn<caf::hidden>(transport_timer, std::move(state));
}

} // namespace troupe
