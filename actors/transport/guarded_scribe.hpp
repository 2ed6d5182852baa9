// One connection. Reads whole frames, asks the guard, and hands CAF's BASP
// broker only those that pass; counts bytes; can be cut off from outside.
// Its handle is a fresh number, not the socket's as with CAF's own scribe: a
// cleanup that the broker has still queued for a closed connection must not hit
// the next one that gets the same socket number.
#pragma once

#include "actors/transport/connection_table.hpp"
#include "actors/transport/frame_guard.hpp"
#include "actors/transport/transport_state.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/native_socket.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/io/scribe.hpp>
#include <caf/policy/tcp.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class guarded_scribe final : public caf::io::scribe {
public:
  /// Takes ownership of the connected socket `fd`. May be called in any thread.
  guarded_scribe(caf::io::network::default_multiplexer& multiplexer,
                 caf::io::network::native_socket fd, peer_role role,
                 std::shared_ptr<transport_state> state);

  ~guarded_scribe() override;

  // -- CAF's interface --------------------------------------------------------

  void configure_read(caf::io::receive_policy::config config) override;
  void ack_writes(bool enable) override;
  std::vector<char>& wr_buf() override;
  std::vector<char>& rd_buf() override;
  void flush() override;
  std::string addr() const override;
  uint16_t port() const override;
  void add_to_loop() override;
  void remove_from_loop() override;
  void graceful_shutdown() override;
  void data_transferred(caf::execution_unit* context, size_t written,
                        size_t remaining) override;

  /// Takes what the stream has read: a header or a payload.
  bool consume(caf::execution_unit* context, const void* data,
               size_t size) override;

  // -- own interface ----------------------------------------------------------

  /// Closes the connection soon, from any thread.
  void cut_off();

private:
  bool refuse(caf::execution_unit* context, std::string_view reason);
  bool consume_header(caf::execution_unit* context, const std::byte* data);
  bool consume_payload(caf::execution_unit* context, size_t size);
  bool deliver_frame(caf::execution_unit* context, size_t size);
  void expect(size_t size);

  std::shared_ptr<transport_state> state_;
  connection_table::handle entry_;
  frame_guard guard_;
  caf::io::network::stream_impl<caf::policy::tcp> stream_;
  bool launched_ = false;
  bool awaits_payload_ = false;
  std::array<char, basp::header_size> header_{};
  std::vector<char> header_buffer_;
};

/// Returns the I/O thread's multiplexer of a `cluster_system`.
caf::io::network::default_multiplexer& multiplexer_of(caf::actor_system& sys);

/// Returns CAF's BASP broker.
caf::actor basp_broker_of(caf::actor_system& sys);

} // namespace troupe
