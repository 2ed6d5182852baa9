// The guarded connections of one process: bounds, deadlines and counters. The
// connections enter and leave it by themselves. To cut one off means
// shutdown(2) on its socket, which is safe from any thread; the I/O thread then
// closes it.
#pragma once

#include "actors/transport/basp_frame.hpp"
#include "runtime/clock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct connection_limits {
  size_t peers = 256;  ///< Accepted connections that have shaken hands.
  size_t pending = 32; ///< Accepted ones that have not; the oldest gives way.
  duration handshake_deadline = std::chrono::seconds{3};
  duration linger = std::chrono::seconds{3}; ///< From closing to cutting off.
};

/// What one connection has carried.
struct connection_stats {
  std::string address; ///< "127.0.0.1:40112"
  bool accepted = false;
  bool handshaken = false;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t frames_in = 0;
  uint64_t frames_dropped = 0;
  uint64_t backlog_bytes = 0; ///< Handed to the connection, not to the kernel.
};

/// Sums over the life of the process.
struct transport_counters {
  std::atomic<uint64_t> accepted{0};
  std::atomic<uint64_t> refused_frames{0};      ///< Closed by the guard.
  std::atomic<uint64_t> dropped_frames{0};      ///< Unknown destination.
  std::atomic<uint64_t> refused_connections{0}; ///< Too many, or known id.
  std::atomic<uint64_t> expired_handshakes{0};
  std::atomic<uint64_t> accept_errors{0}; ///< E.g. no file descriptors left.
};

class connection_table {
public:
  /// One connection, as the table knows it. Lives in the list of the table.
  struct entry {
    int fd = -1;
    bool accepted = false;
    bool handshaken = false;
    bool cut = false;
    bool closing = false;
    time_point since; ///< Start, or start of closing.
    basp::node_key peer{};
    connection_stats stats;
  };
  using handle = std::list<entry>::iterator;

  explicit connection_table(connection_limits limits);

  // -- called by the connections, in the I/O thread ---------------------------

  /// Enters a connection. A pending accepted one beyond the bound cuts off the
  /// oldest pending one.
  handle enter(entry x);

  /// Returns whether the connection may stay: not too many peers, and no other
  /// accepted connection of the same node.
  bool handshake_done(handle h, const basp::node_key& peer);

  void received(handle h, uint64_t bytes); ///< One frame.
  void sent(handle h, uint64_t bytes, uint64_t backlog);
  void dropped(handle h);

  /// Cuts the connection off because of a frame; remembers why.
  void refuse(handle h, std::string_view reason);

  /// The connection only sends what it still holds.
  void closing(handle h, time_point now);

  /// Forgets the connection; its socket may be closed from now on.
  void leave(handle h);

  // -- callable by everyone ---------------------------------------------------

  /// Cuts off connections past their handshake or closing deadline.
  void sweep(time_point now);

  /// Cuts off everything, so that the I/O thread can end.
  void cut_all();

  std::vector<connection_stats> stats() const;
  /// Returns address and reason of the last connection the guard closed.
  std::string last_refusal() const;
  size_t size() const;

  transport_counters counters;

private:
  void cut(entry& x);

  connection_limits limits_;
  mutable std::mutex mutex_;
  std::list<entry> entries_;
  std::string last_refusal_;
};

} // namespace troupe
