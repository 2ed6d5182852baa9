// Large tensors travel in chunks, so that a small message never waits behind a
// large one, and with credits, so that a slow peer cannot make us buffer
// without bound. Pure state machines: one `chunk_sender` per peer on the
// sending side, one `chunk_assembler` per peer on the receiving side.
//
//   sender: push(id, bytes) -> next() ... next() -> chunk messages
//   receiver: accept(chunk, now) -> whole payload when the last one is in
//             take_credit() -> credit message back to the sender ->
//             add_credit()
#pragma once

#include "actors/transport/wire_tensor.hpp"
#include "runtime/clock.hpp"
#include "runtime/error.hpp"

#include <caf/meta/type_name.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace troupe {

/// One piece of a payload. All pieces but the last have the same size.
struct chunk {
  uint64_t transfer = 0; ///< Rising per sender and connection; never reused.
  uint32_t index = 0;    ///< 0 .. count-1, in this order.
  uint32_t count = 0;    ///< Chunks of this payload, at least 1.
  uint64_t total = 0;    ///< Bytes of the whole payload, at least 1.
  shared_bytes bytes;
};

/// @relates chunk
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, chunk& x) {
  return f(caf::meta::type_name("chunk"), x.transfer, x.index, x.count, x.total,
           x.bytes);
}

/// Bounds of one direction of one connection. Both sides use the same values.
struct chunk_limits {
  size_t chunk_bytes = 128 * 1024;            ///< 64 to 256 KiB.
  size_t window_bytes = 4 * 1024 * 1024;      ///< Sent and not yet credited.
  size_t transfer_bytes = 512 * 1024 * 1024;  ///< Largest payload.
  size_t backlog_bytes = 1024 * 1024 * 1024;  ///< Waiting in the sender.
  size_t assembly_bytes = 1024 * 1024 * 1024; ///< Open in the assembler.
  size_t assemblies = 64;                     ///< Open in the assembler.
  duration assembly_deadline = std::chrono::seconds{30}; ///< Since last chunk.
};

/// Cuts payloads into chunks; deals them out round robin between transfers and
/// never has more than `window_bytes` on their way. Starts only as many
/// transfers as the assembler at the other end, with equal limits, can hold.
class chunk_sender {
public:
  explicit chunk_sender(chunk_limits limits);

  /// Queues a payload and returns its transfer number. Fails with
  /// invalid_argument when empty or larger than `transfer_bytes`, and with
  /// overloaded when the backlog is at its bound.
  result<uint64_t> push(shared_bytes payload);

  /// Returns the next chunk to send, or nothing while there is no payload or no
  /// credit.
  std::optional<chunk> next();

  /// The receiver has taken `taken_bytes` since the connection began (a running
  /// sum, so that a repeated or late message does no harm). Fails when that is
  /// more than was sent (the peer lies: close the connection).
  result<void> add_credit(uint64_t taken_bytes);

  /// Forgets a payload that nobody needs any more and that has not begun to
  /// travel; one that has is sent to its end.
  void cancel(uint64_t transfer);

  uint64_t in_flight_bytes() const {
    return sent_ - taken_;
  }
  uint64_t backlog_bytes() const {
    return backlog_;
  }

private:
  struct outgoing {
    uint64_t transfer;
    shared_bytes payload;
    uint32_t next_index;
    uint32_t count;
  };

  void start_waiting();

  chunk_limits limits_;
  std::deque<outgoing> waiting_;
  std::deque<outgoing> started_;
  uint64_t started_bytes_ = 0; ///< Whole payloads of `started_`.
  uint64_t last_transfer_ = 0;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
  uint64_t backlog_ = 0; ///< Not yet sent.
};

/// A payload whose last chunk has arrived.
struct assembled {
  uint64_t transfer = 0;
  shared_bytes payload;
};

/// Puts chunks together. Memory is bounded by `assembly_bytes`.
class chunk_assembler {
public:
  explicit chunk_assembler(chunk_limits limits);

  /// Takes one chunk. Returns the payload with the last one, nothing before.
  /// Duplicates and chunks of forgotten transfers are dropped.
  /// A chunk that contradicts the limits, its own fields or its predecessors is
  /// an error: close the connection.
  result<std::optional<assembled>> accept(const chunk& x, time_point now);

  /// Returns the running sum to tell the sender (`add_credit`), or 0 while it
  /// has grown too little to be worth a message (by less than a quarter of the
  /// window).
  uint64_t take_credit();

  /// Forgets assemblies without a chunk since `assembly_deadline`; returns how
  /// many.
  size_t expire(time_point now);

  size_t open_assemblies() const {
    return open_.size();
  }
  uint64_t open_bytes() const {
    return open_bytes_;
  }
  uint64_t dropped_chunks() const {
    return dropped_;
  }

private:
  /// One whose data is gone has expired: it only follows the index.
  struct assembly {
    std::shared_ptr<std::byte[]> data;
    uint64_t total = 0;
    uint32_t count = 0;
    uint32_t next_index = 0;
    time_point last_chunk;
  };

  result<void> check_fields(const chunk& x) const;
  result<void> open(const chunk& x);
  result<bool> advance(assembly& target, const chunk& x);

  chunk_limits limits_;
  std::map<uint64_t, assembly> open_;
  std::map<uint64_t, assembly> expired_; ///< At most `assemblies`, newest.
  uint64_t last_transfer_ = 0;
  uint64_t taken_ = 0;
  uint64_t credited_ = 0;
  uint64_t dropped_ = 0;
  uint64_t open_bytes_ = 0;
};

} // namespace troupe
