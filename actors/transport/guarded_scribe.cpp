// Reads header and payload, then feeds CAF both as two reads, so that its
// broker never sees a header whose payload the guard has not judged.
#include "actors/transport/guarded_scribe.hpp"

#include <caf/io/basp/header.hpp>
#include <caf/io/basp/version.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/node_id.hpp>

#include <algorithm>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace troupe {

// What basp_frame.hpp says about CAF's protocol must be what CAF was built
// with.
static_assert(caf::io::basp::header_size == basp::header_size);
static_assert(caf::io::basp::version == basp::version);
static_assert(static_cast<uint64_t>(caf::atom("default")) ==
              basp::atom_number("default"));
static_assert(static_cast<uint64_t>(caf::atom("SpawnServ")) ==
              basp::atom_number("SpawnServ"));

namespace net = caf::io::network;

namespace {

std::string address_of(net::native_socket fd) {
  auto host = net::remote_addr_of_fd(fd);
  auto port = net::remote_port_of_fd(fd);
  return (host ? *host : "?") + ":" + (port ? std::to_string(*port) : "?");
}

connection_table::entry table_entry(net::native_socket fd, peer_role role) {
  connection_table::entry x;
  x.fd = fd;
  x.accepted = role == peer_role::node;
  x.since = steady::now();
  x.stats.address = address_of(fd);
  return x;
}

/// A peer that acknowledges nothing for so long is gone for the kernel, too.
void limit_unacknowledged(net::native_socket fd, duration limit) {
  auto ms =
    std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (ms <= 0)
    return;
  auto value = static_cast<unsigned>(std::min<int64_t>(ms, 3'600'000));
  // Best effort: without it the kernel only gives up later.
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof(value));
}

} // namespace

net::default_multiplexer& multiplexer_of(caf::actor_system& sys) {
  return static_cast<net::default_multiplexer&>(sys.middleman().backend());
}

caf::actor basp_broker_of(caf::actor_system& sys) {
  return sys.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

guarded_scribe::guarded_scribe(net::default_multiplexer& multiplexer,
                               net::native_socket fd, peer_role role,
                               std::shared_ptr<transport_state> state)
  : scribe(caf::io::connection_handle::from_int(state->next_connection++)),
    state_(std::move(state)),
    entry_(state_->connections.enter(table_entry(fd, role))),
    guard_(role, state_->self,
           role == peer_role::node ? state_->from_nodes : state_->from_head,
           state_->options.frames),
    stream_(multiplexer, fd) {
  net::keepalive(fd, true);
  limit_unacknowledged(fd, state_->options.timeout);
  stream_.ack_writes(true); // For `data_transferred`.
}

guarded_scribe::~guarded_scribe() {
  state_->connections.leave(entry_);
}

// -- CAF's interface ----------------------------------------------------------

void guarded_scribe::configure_read(caf::io::receive_policy::config config) {
  stream_.configure_read(config);
  if (!launched_) {
    launched_ = true;
    stream_.start(this);
  }
}

void guarded_scribe::ack_writes(bool enable) {
  stream_.ack_writes(enable);
}

std::vector<char>& guarded_scribe::wr_buf() {
  return stream_.wr_buf();
}

std::vector<char>& guarded_scribe::rd_buf() {
  return stream_.rd_buf();
}

void guarded_scribe::flush() {
  stream_.flush(this);
}

std::string guarded_scribe::addr() const {
  auto x = net::remote_addr_of_fd(stream_.fd());
  return x ? *x : std::string{};
}

uint16_t guarded_scribe::port() const {
  auto x = net::remote_port_of_fd(stream_.fd());
  return x ? *x : uint16_t{0};
}

void guarded_scribe::add_to_loop() {
  stream_.activate(this);
}

void guarded_scribe::remove_from_loop() {
  stream_.passivate();
}

void guarded_scribe::graceful_shutdown() {
  state_->connections.closing(entry_, steady::now());
  stream_.graceful_shutdown();
  detach(&stream_.backend(), false);
}

void guarded_scribe::data_transferred(caf::execution_unit*, size_t written,
                                      size_t remaining) {
  // The broker must not hear of it: it would print an unexpected message.
  state_->connections.sent(entry_, written, remaining);
}

// -- frames -------------------------------------------------------------------

bool guarded_scribe::consume(caf::execution_unit* context, const void* data,
                             size_t size) {
  if (detached())
    return false;
  if (awaits_payload_)
    return consume_payload(context, size);
  if (size != basp::header_size)
    return refuse(context, "read without a frame");
  return consume_header(context, static_cast<const std::byte*>(data));
}

bool guarded_scribe::consume_header(caf::execution_unit* context,
                                    const std::byte* data) {
  std::memcpy(header_.data(), data, header_.size());
  auto verdict = guard_.header(
    std::span<const std::byte, basp::header_size>{data, basp::header_size});
  if (verdict.action == frame_action::close)
    return refuse(context, verdict.reason);
  if (guard_.payload_size() > 0) {
    awaits_payload_ = true;
    expect(guard_.payload_size());
    return true;
  }
  state_->connections.received(entry_, basp::header_size);
  return scribe::consume(context, data, basp::header_size);
}

bool guarded_scribe::consume_payload(caf::execution_unit* context,
                                     size_t size) {
  awaits_payload_ = false;
  bool was_stranger = !guard_.handshaken();
  auto verdict = guard_.payload(std::as_bytes(std::span{rd_buf()}.first(size)));
  if (verdict.action == frame_action::close)
    return refuse(context, verdict.reason);
  state_->connections.received(entry_, basp::header_size + size);
  if (verdict.action == frame_action::drop) {
    state_->connections.dropped(entry_);
    expect(basp::header_size);
    return true;
  }
  if (was_stranger &&
      !state_->connections.handshake_done(entry_, guard_.peer()))
    return refuse(context, "too many peers, or this one is connected already");
  return deliver_frame(context, size);
}

/// CAF takes a frame in two reads and finds each in the read buffer.
bool guarded_scribe::deliver_frame(caf::execution_unit* context, size_t size) {
  auto& buffer = rd_buf();
  header_buffer_.assign(header_.begin(), header_.end());
  buffer.swap(header_buffer_);
  auto go_on = scribe::consume(context, buffer.data(), header_.size());
  buffer.swap(header_buffer_);
  if (!go_on || detached())
    return false;
  return scribe::consume(context, buffer.data(), size);
}

void guarded_scribe::cut_off() {
  state_->connections.refuse(entry_, "given up");
}

bool guarded_scribe::refuse(caf::execution_unit* context,
                            std::string_view reason) {
  state_->connections.refuse(entry_, reason);
  io_failure(context, net::operation::read);
  return false;
}

void guarded_scribe::expect(size_t size) {
  configure_read(caf::io::receive_policy::exactly(size));
}

} // namespace troupe
