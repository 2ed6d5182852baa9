// One connect attempt: a helper thread dials, a helper actor of its own holds
// deadline and handshake, the guarded connection goes to CAF's broker.
#include "actors/transport/connect.hpp"

#include "actors/transport/cluster_system.hpp"
#include "actors/transport/dial.hpp"
#include "actors/transport/guarded_scribe.hpp"
#include "runtime/assert.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/make_counted.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace troupe {

namespace {

using dialled_atom = caf::atom_constant<caf::atom("dialled")>;
using deadline_atom = caf::atom_constant<caf::atom("deadline")>;

/// Where the helper thread leaves its result. The thread may outlive the actor
/// (a name lookup cannot be interrupted) and even the actor system: it touches
/// the actor only under the lock and only while that still waits.
class dial_slot {
public:
  explicit dial_slot(caf::actor waiting) : waiting_(std::move(waiting)) {
    // nop
  }

  ~dial_slot() {
    if (outcome_)
      ::close(*outcome_);
  }

  void deliver(result<int> outcome) {
    std::lock_guard guard{mutex_};
    outcome_ = std::move(outcome);
    if (waiting_)
      caf::anon_send(waiting_, dialled_atom::value);
    waiting_ = nullptr;
  }

  void abandon() {
    std::lock_guard guard{mutex_};
    waiting_ = nullptr;
  }

  result<int> take() {
    std::lock_guard guard{mutex_};
    auto outcome = std::move(outcome_);
    outcome_ = fail(ec::cancelled, "connect: taken");
    return outcome;
  }

private:
  std::mutex mutex_;
  caf::actor waiting_;
  result<int> outcome_ = fail(ec::internal, "connect: no result yet");
};

/// One attempt. Ends by itself after its deadline at the latest.
class connector {
public:
  static inline const char* name = "connector";

  explicit connector(caf::event_based_actor* self) : self_(self) {
    // nop
  }

  ~connector() {
    conclude(fail(ec::cancelled, "connect: the system shuts down"));
  }

  void start(std::shared_ptr<transport_state> state, connect_options options,
             std::function<void(result<remote_head>)> done) {
    state_ = std::move(state);
    options_ = std::move(options);
    done_ = std::move(done);
    deadline_ = steady::now() + options_.deadline;
    slot_ = std::make_shared<dial_slot>(caf::actor{self_});
    self_->delayed_send(self_, options_.deadline, deadline_atom::value);
    dial_in_thread();
  }

  void dialled() {
    if (!done_)
      return;
    auto fd = slot_->take();
    if (!fd)
      return finish(tl::unexpected(fd.error()));
    auto& sys = self_->system();
    scribe_ = caf::make_counted<guarded_scribe>(multiplexer_of(sys), *fd,
                                                peer_role::head, state_);
    self_
      ->request(basp_broker_of(sys), options_.deadline,
                caf::connect_atom::value, caf::io::scribe_ptr{scribe_},
                options_.port)
      .then(
        [this](caf::node_id& node, caf::strong_actor_ptr& actor,
               std::set<std::string>&) {
          connected(std::move(node), std::move(actor));
        },
        [this](caf::error& reason) { refused(reason); });
  }

  void deadline_passed() {
    finish(fail(
      ec::deadline_exceeded,
      "connect: {}:{} does not answer within {} ms: check the "
      "address and that the head runs",
      options_.host, options_.port,
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline)
        .count()));
  }

private:
  void dial_in_thread() {
    try {
      std::thread([slot = slot_, host = options_.host, port = options_.port,
                   deadline = deadline_] {
        slot->deliver(dial(host, port, deadline));
      }).detach();
    } catch (const std::system_error& e) {
      finish(fail(ec::io, "connect: no thread for {}:{}: {}", options_.host,
                  options_.port, e.what()));
    }
  }

  void connected(caf::node_id node, caf::strong_actor_ptr actor) {
    if (actor == nullptr)
      return finish(fail(ec::protocol_mismatch,
                         "connect: {}:{} publishes no actor: is it the "
                         "cluster port of a head?",
                         options_.host, options_.port));
    scribe_ = nullptr; // Keep the connection.
    finish(remote_head{std::move(node), std::move(actor)});
  }

  void refused(const caf::error& reason) {
    // CAF checks heartbeats of a connection before its first byte has come and
    // may give it up for that: try again while there is time.
    if (reason == caf::sec::connection_timeout && steady::now() < deadline_) {
      drop_connection();
      slot_ = std::make_shared<dial_slot>(caf::actor{self_});
      return dial_in_thread();
    }
    finish(fail(ec::protocol_mismatch,
                "connect: {}:{} closed the connection during the handshake "
                "({}): is it the cluster port of a head of this version?",
                options_.host, options_.port, self_->system().render(reason)));
  }

  void drop_connection() {
    if (scribe_ != nullptr)
      scribe_->cut_off();
    scribe_ = nullptr;
  }

  void conclude(result<remote_head> outcome) {
    if (!done_)
      return;
    if (slot_ != nullptr)
      slot_->abandon();
    drop_connection();
    std::exchange(done_, nullptr)(std::move(outcome));
  }

  void finish(result<remote_head> outcome) {
    conclude(std::move(outcome));
    self_->quit();
  }

  caf::event_based_actor* self_;
  std::shared_ptr<transport_state> state_;
  connect_options options_;
  std::function<void(result<remote_head>)> done_;
  time_point deadline_;
  std::shared_ptr<dial_slot> slot_;
  caf::intrusive_ptr<guarded_scribe> scribe_;
};

caf::behavior connector_actor(caf::stateful_actor<connector>* self,
                              std::shared_ptr<transport_state> state,
                              connect_options options,
                              std::function<void(result<remote_head>)> done) {
  use_quiet_handlers(*self);
  self->state.start(std::move(state), std::move(options), std::move(done));
  return {
    [self](dialled_atom) { self->state.dialled(); },
    [self](deadline_atom) { self->state.deadline_passed(); },
  };
}

} // namespace

void connect(caf::actor_system& system, std::shared_ptr<transport_state> state,
             connect_options options,
             std::function<void(result<remote_head>)> done) {
  TROUPE_ASSERT(done != nullptr);
  system.spawn(connector_actor, std::move(state), std::move(options),
               std::move(done));
}

void connect(caf::actor_system& system, std::shared_ptr<transport_state> state,
             connect_options options, const caf::actor& asker) {
  connect(system, std::move(state), std::move(options),
          [asker](result<remote_head> head) {
            caf::anon_send(asker, connect_outcome{std::move(head)});
          });
}

} // namespace troupe
