// Accepts connections and wraps them into guarded ones. Running out of file
// descriptors or memory makes it pause until the transport's next
// tick, instead of spinning on the socket that stays readable.
#pragma once

#include "actors/transport/transport_state.hpp"

#include <caf/io/doorman.hpp>
#include <caf/io/network/acceptor_impl.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/native_socket.hpp>

#include <memory>
#include <string>

namespace troupe {

class guarded_doorman final : public caf::io::doorman {
public:
  /// Takes ownership of the listening socket `fd`.
  guarded_doorman(caf::io::network::default_multiplexer& multiplexer,
                  caf::io::network::native_socket fd,
                  std::shared_ptr<transport_state> state);

  // -- CAF's interface --------------------------------------------------------

  bool new_connection() override;
  void graceful_shutdown() override;
  void launch() override;
  std::string addr() const override;
  uint16_t port() const override;
  void add_to_loop() override;
  void remove_from_loop() override;

private:
  /// How the acceptor takes a connection from the kernel.
  struct accept_policy {
    guarded_doorman* owner;
    bool try_accept(caf::io::network::native_socket& result,
                    caf::io::network::native_socket fd);
  };

  void pause();
  void resume();

  std::shared_ptr<transport_state> state_;
  caf::io::network::acceptor_impl<accept_policy> acceptor_;
  bool paused_ = false;
};

} // namespace troupe
