// Decides for each frame of a connection whether CAF may see it. Pure: spans
// in, verdicts out. It exists because CAF 0.17.6 trusts its peers: one bad
// header ends the process, and any peer may stop any actor.
//
// Order of a connection:  handshake of the other side -> messages, monitors,
// downs, heartbeats. A node (accepted connection) may repeat its handshake once
// to select the connection, as CAF's client does.
#pragma once

#include "actors/transport/allow_table.hpp"
#include "actors/transport/basp_frame.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace troupe {

/// Who is at the other end.
enum class peer_role : uint8_t {
  node, ///< It dialled us: we are the head.
  head, ///< We dialled it: we are a node.
};

struct frame_limits {
  uint32_t handshake_bytes = 1024;
  uint32_t message_bytes = 2 * 1024 * 1024;
  uint32_t control_bytes = 8192; ///< Monitor and down messages.
  uint32_t name_bytes = 256;     ///< The type names of a message.
};

/// What to do with a frame.
enum class frame_action : uint8_t {
  deliver, ///< Give it to CAF. For a header: read the payload first.
  drop,    ///< Forget it (a header: and its payload) and go on.
  close,   ///< Close the connection.
};

struct frame_verdict {
  frame_action action = frame_action::close;
  std::string_view reason; ///< Static text; empty with deliver.
};

class frame_guard {
public:
  /// @param self the id of this process's node.
  /// @param allowed is read for every message; must not be null.
  frame_guard(peer_role role, basp::node_key self,
              std::shared_ptr<const allow_table> allowed,
              frame_limits limits = {});

  /// Judges a header. After `deliver` or `drop` with `payload_size() > 0` the
  /// next call is `payload` with exactly that many bytes; after `drop` its
  /// verdict is `drop` again.
  frame_verdict header(std::span<const std::byte, basp::header_size> bytes);

  /// Judges the payload of the last header.
  frame_verdict payload(std::span<const std::byte> bytes);

  uint32_t payload_size() const {
    return header_.payload_size;
  }

  /// Returns whether the peer has completed its handshake.
  bool handshaken() const {
    return handshakes_ > 0;
  }

  /// The peer's node id. Valid once `handshaken`.
  const basp::node_key& peer() const {
    return peer_;
  }

private:
  frame_verdict handshake_header() const;
  frame_verdict message_header();
  frame_verdict control_header() const;
  frame_verdict handshake_payload(basp::reader in);
  frame_verdict message_payload(basp::reader in) const;
  frame_verdict control_payload(basp::reader in) const;

  peer_role role_;
  basp::node_key self_;
  basp::node_key peer_{};
  std::shared_ptr<const allow_table> allowed_;
  frame_limits limits_;
  basp::header header_;
  bool dropping_ = false;
  uint32_t handshakes_ = 0;
  uint32_t probes_ = 0;
};

} // namespace troupe
