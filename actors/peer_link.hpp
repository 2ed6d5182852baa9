// The one way by which messages leave for another process, and the place where
// a slow peer is kept from making us buffer without bound: at most
// `window_bytes` of payload are on the way; the receiver gives credit back.
//
//   sender:   send(...)  --payload-->  receiver: received(bytes)
//   sender:   credit(bytes)  <--link_credit--  (when a quarter window is due)
//
// Thread-safe: actors and lanes send through the same link.
#pragma once

#include "actors/messages.hpp"
#include "runtime/clock.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/message.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {

/// Largest payload of one frame: large enough to be cheap, small enough that a
/// heartbeat behind it is not late.
inline constexpr size_t piece_bytes = 128 * 1024;

/// A message on its way: from an actor (or null: from a lane) to an actor.
struct parcel {
  caf::strong_actor_ptr from;
  caf::strong_actor_ptr to;
  caf::message content;
  size_t payload_bytes = 0;
};

class peer_link {
public:
  struct options {
    uint32_t id = 0;          ///< The node's, on both sides of the link.
    uint64_t incarnation = 0; ///< The node's.
    /// Where the peer wants to hear of credit: its NODE or MEMBERSHIP.
    caf::strong_actor_ptr control;
    size_t window_bytes = size_t{8} << 20;
    size_t queue_bytes_max = size_t{512} << 20;
    duration patience = std::chrono::seconds(20);
  };

  explicit peer_link(options x);
  virtual ~peer_link() = default;
  peer_link(const peer_link&) = delete;
  peer_link& operator=(const peer_link&) = delete;

  /// Sends `x` now, or when credit comes. Returns false when the queue is at
  /// its bound: nothing was sent, the peer does not keep up.
  bool send(parcel x);

  /// The peer has taken `bytes`. More than was sent counts as all of it.
  void credit(uint64_t bytes);

  /// Notes payload that came from the peer; tells it when enough is due.
  void received(uint64_t bytes);

  /// Call it now and then: credit that has not come for `patience` is lost (the
  /// receiver ended with the message in its mailbox) and taken as given.
  void tick(time_point now);

  /// Forgets what is queued; nothing is sent any more.
  void close();

  uint32_t id() const {
    return options_.id;
  }
  uint64_t incarnation() const {
    return options_.incarnation;
  }
  uint64_t bytes_sent() const;
  uint64_t bytes_received() const;

protected:
  /// Hands a message to the network. The simulation's seam.
  virtual void deliver(const parcel& x);

private:
  void pump();

  const options options_;
  mutable std::mutex mutex_;
  std::deque<parcel> queue_;
  size_t queued_bytes_ = 0;
  size_t in_flight_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
  uint64_t credit_due_bytes_ = 0;
  uint64_t credits_ = 0;                    ///< Times that credit came.
  uint64_t credits_seen_ = 0;               ///< At `waiting_since_`.
  std::optional<time_point> waiting_since_; ///< Nothing: nothing waits.
  bool closed_ = false;
};

} // namespace troupe
