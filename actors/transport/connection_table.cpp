// Bounds, deadlines and counters of the guarded connections.
#include "actors/transport/connection_table.hpp"

#include <algorithm>
#include <sys/socket.h>
#include <utility>

namespace troupe {

connection_table::connection_table(connection_limits limits) : limits_(limits) {
  // nop
}

/// Ends both directions of the socket. The I/O thread then sees it as closed by
/// the peer and cleans up. The number stays valid: its owner leaves the table
/// before it closes the socket.
void connection_table::cut(entry& x) {
  if (std::exchange(x.cut, true))
    return;
  ::shutdown(x.fd, SHUT_RDWR);
}

connection_table::handle connection_table::enter(entry x) {
  std::lock_guard guard{mutex_};
  if (x.accepted) {
    ++counters.accepted;
    auto pending = [](const entry& e) {
      return e.accepted && !e.handshaken && !e.cut;
    };
    auto count = std::count_if(entries_.begin(), entries_.end(), pending);
    if (static_cast<size_t>(count) >= limits_.pending) {
      // New entries go to the back, so the first match is the oldest.
      cut(*std::find_if(entries_.begin(), entries_.end(), pending));
      ++counters.refused_connections;
    }
  }
  x.stats.accepted = x.accepted;
  return entries_.insert(entries_.end(), std::move(x));
}

bool connection_table::handshake_done(handle h, const basp::node_key& peer) {
  std::lock_guard guard{mutex_};
  if (h->accepted) {
    size_t peers = 0;
    for (const auto& x : entries_) {
      if (!x.accepted || !x.handshaken || x.cut || x.closing)
        continue;
      if (x.peer == peer) {
        ++counters.refused_connections;
        return false;
      }
      ++peers;
    }
    if (peers >= limits_.peers) {
      ++counters.refused_connections;
      return false;
    }
  }
  h->handshaken = true;
  h->stats.handshaken = true;
  h->peer = peer;
  return true;
}

void connection_table::received(handle h, uint64_t bytes) {
  std::lock_guard guard{mutex_};
  h->stats.bytes_in += bytes;
  ++h->stats.frames_in;
}

void connection_table::sent(handle h, uint64_t bytes, uint64_t backlog) {
  std::lock_guard guard{mutex_};
  h->stats.bytes_out += bytes;
  h->stats.backlog_bytes = backlog;
}

void connection_table::dropped(handle h) {
  std::lock_guard guard{mutex_};
  ++h->stats.frames_dropped;
  ++counters.dropped_frames;
}

void connection_table::refuse(handle h, std::string_view reason) {
  std::lock_guard guard{mutex_};
  ++counters.refused_frames;
  last_refusal_ = h->stats.address;
  last_refusal_ += ": ";
  last_refusal_ += reason;
  cut(*h);
}

void connection_table::closing(handle h, time_point now) {
  std::lock_guard guard{mutex_};
  h->closing = true;
  h->since = now;
}

void connection_table::leave(handle h) {
  std::lock_guard guard{mutex_};
  entries_.erase(h);
}

void connection_table::sweep(time_point now) {
  std::lock_guard guard{mutex_};
  for (auto& x : entries_) {
    if (x.closing) {
      if (now - x.since >= limits_.linger)
        cut(x);
    } else if (x.accepted && !x.handshaken && !x.cut &&
               now - x.since >= limits_.handshake_deadline) {
      ++counters.expired_handshakes;
      cut(x);
    }
  }
}

void connection_table::cut_all() {
  std::lock_guard guard{mutex_};
  for (auto& x : entries_)
    cut(x);
}

std::vector<connection_stats> connection_table::stats() const {
  std::lock_guard guard{mutex_};
  std::vector<connection_stats> result;
  for (const auto& x : entries_)
    result.push_back(x.stats);
  return result;
}

std::string connection_table::last_refusal() const {
  std::lock_guard guard{mutex_};
  return last_refusal_;
}

size_t connection_table::size() const {
  std::lock_guard guard{mutex_};
  return entries_.size();
}

} // namespace troupe
