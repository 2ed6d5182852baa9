// Who plays which role in the head right now: an immutable snapshot that
// supervisors replace when they restart an actor, so that nobody keeps a dead
// handle. (CAF's registry neither overwrites nor erases by itself.)
#pragma once

#include "runtime/ids.hpp"
#include "runtime/published.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/make_message.hpp>
#include <caf/message_id.hpp>

#include <map>
#include <utility>

namespace troupe {

struct actor_directory {
  caf::strong_actor_ptr backbone;
  caf::strong_actor_ptr router;
  caf::strong_actor_ptr fallback;
  caf::strong_actor_ptr membership;
  std::map<layer_index, caf::strong_actor_ptr> dispatchers;

  /// Null when the layer has none at the moment.
  caf::strong_actor_ptr dispatcher(layer_index layer) const {
    auto i = dispatchers.find(layer);
    return i == dispatchers.end() ? nullptr : i->second;
  }
};

using actor_directory_view = published<actor_directory>;

/// Sends `x` to `to` in the name of `self`. A null or dead receiver loses it:
/// the sender's deadline covers that.
template <class Self, class T>
void send_to(Self* self, const caf::strong_actor_ptr& to, T x) {
  if (to)
    to->enqueue(caf::actor_cast<caf::strong_actor_ptr>(self),
                caf::make_message_id(), caf::make_message(std::move(x)),
                self->context());
}

/// The same from outside of any actor: a lane or a plain thread.
template <class T>
void send_from_outside(const caf::strong_actor_ptr& to, T x) {
  if (to)
    to->enqueue(nullptr, caf::make_message_id(),
                caf::make_message(std::move(x)), nullptr);
}

} // namespace troupe
