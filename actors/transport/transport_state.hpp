// What all connections of one process share: identity, bounds, allow lists, the
// table of connections.
#pragma once

#include "actors/transport/allow_table.hpp"
#include "actors/transport/basp_frame.hpp"
#include "actors/transport/connection_table.hpp"
#include "actors/transport/frame_guard.hpp"
#include "runtime/clock.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

struct transport_options {
  connection_limits connections;
  frame_limits frames;
  /// Without any frame for so long a connection is lost (down_msg). 0: never.
  /// Needs CAF's heartbeats.
  duration timeout = std::chrono::seconds{5};
};

/// Calls that wait for the next tick of the transport's timer.
class deferred_calls {
public:
  using call = std::function<void()>;

  void push(call x) {
    std::lock_guard guard{mutex_};
    calls_.push_back(std::move(x));
  }

  /// Removes and returns all calls.
  std::vector<call> take() {
    std::lock_guard guard{mutex_};
    return std::exchange(calls_, {});
  }

private:
  std::mutex mutex_;
  std::vector<call> calls_;
};

struct transport_state {
  transport_state(const transport_options& x, basp::node_key self_key)
    : self(self_key), options(x), connections(x.connections) {
    // nop
  }

  const basp::node_key self;
  const transport_options options;
  connection_table connections;
  std::atomic<int64_t> next_connection{1}; ///< Number of the next connection.
  deferred_calls next_tick;                ///< Run in the I/O thread.
  /// What nodes may send to us (the head).
  std::shared_ptr<allow_table> from_nodes = std::make_shared<allow_table>();
  /// What the head may send to us (a node).
  std::shared_ptr<allow_table> from_head = std::make_shared<allow_table>();
};

} // namespace troupe
