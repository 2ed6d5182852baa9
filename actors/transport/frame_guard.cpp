// The rules of the guard: one function per kind of frame, header and payload.
#include "actors/transport/frame_guard.hpp"

#include "runtime/assert.hpp"

namespace troupe {

namespace {

/// A handshake, and its repetition that selects the connection.
constexpr uint32_t max_handshakes = 2;
/// CAF asks every new peer for its spawn server once; we never answer.
constexpr uint32_t max_probes = 1;
constexpr uint64_t probe_target = basp::atom_number("SpawnServ");
constexpr std::string_view message_prefix = "@<>";

constexpr frame_verdict deliver{frame_action::deliver, {}};

constexpr frame_verdict close_for(std::string_view reason) {
  return {frame_action::close, reason};
}

constexpr frame_verdict drop_for(std::string_view reason) {
  return {frame_action::drop, reason};
}

/// Reads code, category and context of an error. Its context is a message in a
/// message; only an empty one or one text is let through.
bool plain_error(basp::reader& in) {
  auto code = in.u8();
  auto category = in.u64();
  auto nested = in.u16();
  auto types = in.text(16);
  if (!code || !category || !nested || *nested != 0 || !types)
    return false;
  if (*types == "@<>")
    return in.remaining() == 0;
  return *types == "@<>+@str" && in.text(4096) && in.remaining() == 0;
}

} // namespace

frame_guard::frame_guard(peer_role role, basp::node_key self,
                         std::shared_ptr<const allow_table> allowed,
                         frame_limits limits)
  : role_(role), self_(self), allowed_(std::move(allowed)), limits_(limits) {
  TROUPE_ASSERT(allowed_ != nullptr);
}

// -- headers ------------------------------------------------------------------

frame_verdict
frame_guard::header(std::span<const std::byte, basp::header_size> bytes) {
  header_ = basp::read_header(bytes);
  dropping_ = false;
  if (header_.padding1 != 0 || header_.padding2 != 0)
    return close_for("header: padding is not zero");
  auto op = static_cast<basp::op>(header_.op);
  auto handshake = role_ == peer_role::node ? basp::op::client_handshake
                                            : basp::op::server_handshake;
  if (op == handshake)
    return handshake_header();
  if (!handshaken())
    return close_for("header: the first frame is not the handshake");
  switch (op) {
  case basp::op::direct_message:
    return message_header();
  case basp::op::monitor_message:
  case basp::op::down_message:
    return control_header();
  case basp::op::heartbeat:
    if (header_.payload_size != 0 || header_.flags != 0 || header_.data != 0 ||
        header_.source_actor != 0 || header_.dest_actor != 0)
      return close_for("heartbeat: a field is not zero");
    return deliver;
  case basp::op::routed_message:
    return close_for("routed messages are refused");
  default:
    return close_for("header: unknown operation for this side");
  }
}

frame_verdict frame_guard::handshake_header() const {
  bool by_node = role_ == peer_role::node;
  auto expected_flags =
    by_node && handshaken() ? basp::select_connection_flag : uint8_t{0};
  if (handshakes_ >= (by_node ? max_handshakes : 1))
    return close_for("handshake: repeated");
  if (header_.flags != expected_flags)
    return close_for("handshake: wrong flags");
  if (header_.payload_size == 0)
    return close_for("handshake: no payload");
  if (header_.payload_size > limits_.handshake_bytes)
    return close_for("handshake: too large");
  if (header_.data != (by_node ? 0 : basp::version))
    return close_for("handshake: other version of CAF's protocol");
  if (header_.source_actor != 0 || header_.dest_actor != 0)
    return close_for("handshake: names an actor");
  return deliver;
}

frame_verdict frame_guard::message_header() {
  if (header_.payload_size == 0)
    return close_for("message: no payload");
  if (header_.payload_size > limits_.message_bytes)
    return close_for("message: too large");
  if (header_.dest_actor == 0)
    return close_for("message: no destination");
  if (header_.flags == 0)
    return deliver;
  if (header_.flags == basp::named_receiver_flag &&
      header_.dest_actor == probe_target &&
      header_.payload_size <= limits_.control_bytes && probes_ < max_probes) {
    ++probes_;
    dropping_ = true;
    return drop_for("message: asks for the spawn server");
  }
  return close_for("message: destination by registry name, or unknown flags");
}

frame_verdict frame_guard::control_header() const {
  bool monitor = static_cast<basp::op>(header_.op) == basp::op::monitor_message;
  if (header_.flags != 0 || header_.data != 0)
    return close_for("monitor or down: a field is not zero");
  if (header_.payload_size == 0 || header_.payload_size > limits_.control_bytes)
    return close_for("monitor or down: wrong size");
  bool names_one = monitor
                     ? header_.source_actor == 0 && header_.dest_actor != 0
                     : header_.source_actor != 0 && header_.dest_actor == 0;
  if (!names_one)
    return close_for("monitor or down: wrong actors");
  return deliver;
}

// -- payloads -----------------------------------------------------------------

frame_verdict frame_guard::payload(std::span<const std::byte> bytes) {
  if (bytes.size() != header_.payload_size)
    return close_for("payload: size differs from the header");
  if (dropping_)
    return drop_for("message: asks for the spawn server");
  basp::reader in{bytes};
  switch (static_cast<basp::op>(header_.op)) {
  case basp::op::client_handshake:
  case basp::op::server_handshake:
    return handshake_payload(in);
  case basp::op::direct_message:
    return message_payload(in);
  default:
    return control_payload(in);
  }
}

frame_verdict frame_guard::handshake_payload(basp::reader in) {
  auto peer = in.node();
  if (!peer)
    return close_for("handshake: broken node id");
  if (*peer == self_)
    return close_for("handshake: the peer is this process");
  if (handshaken() && *peer != peer_)
    return close_for("handshake: the node id changed");
  if (role_ == peer_role::head) {
    auto skip_texts = [&in, this] {
      auto count = in.length();
      if (!count)
        return false;
      for (uint32_t i = 0; i < *count; ++i)
        if (!in.text(limits_.handshake_bytes))
          return false;
      return true;
    };
    // Application names, id of the published actor, its interface.
    if (!skip_texts() || !in.u64() || !skip_texts())
      return close_for("handshake: broken payload");
  }
  if (in.remaining() != 0)
    return close_for("handshake: bytes after its end");
  peer_ = *peer;
  ++handshakes_;
  return deliver;
}

frame_verdict frame_guard::message_payload(basp::reader in) const {
  auto stages = in.length();
  if (!stages)
    return close_for("message: broken payload");
  if (*stages != 0)
    return close_for("message: has a forwarding stack");
  auto number = in.u16();
  if (!number || *number != 0)
    return close_for("message: broken payload");
  auto name = in.text(limits_.name_bytes);
  if (!name)
    return close_for("message: type names broken or too long");
  if (!name->starts_with("@<>+"))
    return close_for("message: empty, or not a message");
  name->remove_prefix(message_prefix.size() + 1);
  switch (allowed_->check(header_.dest_actor, *name)) {
  case allow_table::answer::allowed:
    return deliver;
  case allow_table::answer::unknown_destination:
    return drop_for("message: unknown destination");
  default:
    return close_for("message: type not allowed here");
  }
}

frame_verdict frame_guard::control_payload(basp::reader in) const {
  auto source = in.node();
  auto destination = in.node();
  if (!source || *source != peer_)
    return close_for("monitor or down: speaks for another node");
  if (!destination || *destination != self_)
    return close_for("monitor or down: is for another node");
  if (static_cast<basp::op>(header_.op) == basp::op::down_message) {
    if (!plain_error(in))
      return close_for("down: broken or nested reason");
  } else if (in.remaining() != 0) {
    return close_for("monitor: bytes after its end");
  }
  return deliver;
}

} // namespace troupe
