// Accepting without spinning: only what went wrong with one connection goes on,
// everything else pauses until the next tick.
#include "actors/transport/guarded_doorman.hpp"

#include "actors/transport/guarded_scribe.hpp"

#include <caf/io/abstract_broker.hpp>
#include <caf/make_counted.hpp>

#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace troupe {

namespace net = caf::io::network;

guarded_doorman::guarded_doorman(net::default_multiplexer& multiplexer,
                                 net::native_socket fd,
                                 std::shared_ptr<transport_state> state)
  : doorman(net::accept_hdl_from_socket(fd)), state_(std::move(state)),
    acceptor_(multiplexer, fd, accept_policy{this}) {
  // nop
}

bool guarded_doorman::accept_policy::try_accept(net::native_socket& result,
                                                net::native_socket fd) {
  result = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (result != net::invalid_native_socket)
    return true;
  switch (errno) {
  case EAGAIN:
  case EINTR:
  case ECONNABORTED:
  case EPROTO:
    break; // Nothing there, or gone again.
  default:
    ++owner->state_->connections.counters.accept_errors;
    owner->pause();
  }
  return false;
}

bool guarded_doorman::new_connection() {
  if (detached()) {
    net::close_socket(acceptor_.accepted_socket());
    return false;
  }
  auto& multiplexer = acceptor_.backend();
  auto scribe = caf::make_counted<guarded_scribe>(
    multiplexer, acceptor_.accepted_socket(), peer_role::node, state_);
  auto connection = scribe->hdl();
  parent()->add_scribe(std::move(scribe));
  return doorman::new_connection(&multiplexer, connection);
}

void guarded_doorman::graceful_shutdown() {
  acceptor_.graceful_shutdown();
  detach(&acceptor_.backend(), false);
}

void guarded_doorman::launch() {
  acceptor_.start(this);
}

std::string guarded_doorman::addr() const {
  auto x = net::local_addr_of_fd(acceptor_.fd());
  return x ? *x : std::string{};
}

uint16_t guarded_doorman::port() const {
  auto x = net::local_port_of_fd(acceptor_.fd());
  return x ? *x : uint16_t{0};
}

void guarded_doorman::add_to_loop() {
  acceptor_.activate(this);
}

void guarded_doorman::remove_from_loop() {
  acceptor_.passivate();
}

void guarded_doorman::pause() {
  if (std::exchange(paused_, true))
    return;
  acceptor_.passivate();
  state_->next_tick.push(
    [self = caf::intrusive_ptr<guarded_doorman>{this}] { self->resume(); });
}

void guarded_doorman::resume() {
  if (!paused_ || detached())
    return;
  paused_ = false;
  acceptor_.activate(this);
}

} // namespace troupe
