// The one clock of the transport: ten times a second it enforces handshake and
// closing deadlines and lets a paused doorman go on. A hidden actor; what it
// decides is in `connection_table`.
#pragma once

#include "actors/transport/transport_state.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <memory>

namespace troupe {

/// Starts the timer; it runs until it is told to exit.
caf::actor spawn_transport_timer(caf::actor_system& sys,
                                 std::shared_ptr<transport_state> state);

} // namespace troupe
