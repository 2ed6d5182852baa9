// The SUPERVISOR actor (one_for_one): starts its children in order, restarts
// those that fail as restart_decision says, stops them in reverse order, and
// escalates by failing itself. What a child's handle means to others is
// published by the child's own `publish` function at every start.
#pragma once

#include "actors/supervision/restart_decision.hpp"

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/fwd.hpp>
#include <caf/stateful_actor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {

/// A child as its supervisor starts it (OTP: child specification).
struct child_spec {
  std::string id; ///< Unique in its supervisor: "router", "dispatcher[3]".
  restart_policy::options restart;
  std::function<caf::actor(caf::event_based_actor&)> start;
  /// Makes the new handle known; also called with null when the child is gone.
  std::function<void(const caf::actor&)> publish;
};

/// What `troupe status` shows of one child.
struct child_status {
  std::string id;
  bool running = false;
  uint64_t restarts = 0;
  std::string last_reason; ///< Why it ended last; empty: never.
  time_point started;
};

/// The present state of a supervisor's children; thread-safe.
class supervision_status {
public:
  template <class Change>
  void update(size_t index, Change&& change) {
    std::lock_guard guard{mutex_};
    if (children_.size() <= index)
      children_.resize(index + 1);
    change(children_[index]);
  }

  std::vector<child_status> read() const {
    std::lock_guard guard{mutex_};
    return children_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<child_status> children_;
};

/// SUPERVISOR -> itself: start this child again.
struct restart_child {
  size_t index = 0;
};

struct supervisor_state {
  static inline const char* name = "supervisor";

  struct child {
    child_spec spec;
    restart_policy policy;
    caf::actor actor;
  };

  void start(size_t index);
  void ended(const caf::down_msg& x);
  void stop_all();
  void quit_if_alone();

  caf::event_based_actor* self = nullptr;
  std::vector<child> children;
  std::shared_ptr<supervision_status> status;
  bool stopping = false;
  caf::error failure; ///< Why it ends; none: it was told to.
};

/// Starts `specs` in order. Ends after its children when told to exit; ends
/// with an error when a child fails too often.
caf::behavior supervisor(caf::stateful_actor<supervisor_state>* self,
                         std::vector<child_spec> specs,
                         std::shared_ptr<supervision_status> status);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::restart_child)
