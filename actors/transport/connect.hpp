// Dials the head without ever blocking an actor or the I/O thread: name lookup
// and TCP connect happen in a helper thread, each attempt has one deadline, and
// a peer that does not answer delays nobody else.
#pragma once

#include "actors/transport/transport_state.hpp"
#include "runtime/error.hpp"

#include <caf/actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/node_id.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace troupe {

struct connect_options {
  std::string host = "127.0.0.1"; ///< Name or numeric address.
  uint16_t port = 7600;
  duration deadline = std::chrono::seconds{3}; ///< For all of it.
};

/// The head as a node sees it.
struct remote_head {
  caf::node_id node;
  caf::strong_actor_ptr actor; ///< What the head published; never null.
};

/// What becomes of an attempt. As a message it stays inside the process.
struct connect_outcome {
  result<remote_head> head;
};

/// Connects and calls `done` exactly once, from the thread of a helper actor:
/// only send a message in it. Errors: not_found (name), io (refused),
/// deadline_exceeded, protocol_mismatch (not a head).
void connect(caf::actor_system& system, std::shared_ptr<transport_state> state,
             connect_options options,
             std::function<void(result<remote_head>)> done);

/// Same, and sends a `connect_outcome` to `asker`.
void connect(caf::actor_system& system, std::shared_ptr<transport_state> state,
             connect_options options, const caf::actor& asker);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::connect_outcome)
