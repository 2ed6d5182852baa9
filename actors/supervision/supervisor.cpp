#include "actors/supervision/supervisor.hpp"

#include "actors/transport/cluster_system.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/system_messages.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

void supervisor_state::start(size_t index) {
  auto& started = children[index];
  started.actor = started.spec.start(*self);
  self->monitor(started.actor);
  status->update(index, [&](child_status& x) {
    x.id = started.spec.id;
    x.running = true;
    x.started = steady::now();
  });
  if (started.spec.publish)
    started.spec.publish(started.actor);
}

void supervisor_state::ended(const caf::down_msg& x) {
  auto i = std::find_if(children.begin(), children.end(), [&](auto& y) {
    return y.actor && y.actor.address() == x.source;
  });
  if (i == children.end())
    return;
  i->actor = nullptr;
  auto index = static_cast<size_t>(i - children.begin());
  status->update(index, [&](child_status& y) {
    y.running = false;
    y.last_reason = x.reason ? self->system().render(x.reason) : "normal";
  });
  if (i->spec.publish)
    i->spec.publish(nullptr);
  if (stopping) {
    quit_if_alone();
    return;
  }
  auto how = x.reason ? child_end::failure : child_end::normal;
  auto decision = i->policy.ended(steady::now(), how);
  switch (decision.what) {
  case restart_decision::action::restart:
    status->update(index, [](child_status& y) { ++y.restarts; });
    self->delayed_send(self, decision.delay, restart_child{index});
    break;
  case restart_decision::action::escalate:
    failure = caf::make_error(
      caf::sec::runtime_error,
      i->spec.id + " failed too often: " + self->system().render(x.reason));
    stop_all();
    break;
  case restart_decision::action::forget:
    break;
  }
}

void supervisor_state::stop_all() {
  stopping = true;
  for (auto i = children.rbegin(); i != children.rend(); ++i)
    if (i->actor)
      self->send_exit(i->actor, caf::exit_reason::user_shutdown);
  quit_if_alone();
}

void supervisor_state::quit_if_alone() {
  auto alone = std::all_of(children.begin(), children.end(),
                           [](auto& x) { return !x.actor; });
  if (!alone)
    return;
  if (failure)
    self->quit(failure);
  else
    self->quit(caf::exit_reason::user_shutdown);
}

caf::behavior supervisor(caf::stateful_actor<supervisor_state>* self,
                         std::vector<child_spec> specs,
                         std::shared_ptr<supervision_status> status) {
  use_quiet_handlers(*self);
  auto& state = self->state;
  state.self = self;
  state.status = std::move(status);
  for (auto& spec : specs) {
    spec.restart.seed = std::hash<std::string>{}(spec.id);
    auto policy = restart_policy{spec.restart};
    state.children.push_back({std::move(spec), std::move(policy), {}});
  }
  self->set_down_handler([=](const caf::down_msg& x) { self->state.ended(x); });
  self->set_exit_handler([=](const caf::exit_msg&) { self->state.stop_all(); });
  for (size_t i = 0; i < state.children.size(); ++i)
    state.start(i);
  return {
    [=](restart_child x) {
      if (!self->state.stopping)
        self->state.start(x.index);
    },
  };
}

} // namespace troupe
