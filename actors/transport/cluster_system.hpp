// A CAF actor system set up for the cluster, with bounded shutdown.
//
//   cluster_options o;
//   cluster_system cluster{o, [](caf::actor_system_config& c) {
//     c.add_message_type<batch>("batch");
//   }};
//   cluster.system().spawn(...);
//   cluster.shutdown(std::chrono::seconds{3}, 0);
#pragma once

#include "actors/transport/allow_table.hpp"
#include "actors/transport/basp_frame.hpp"
#include "actors/transport/connection_table.hpp"
#include "actors/transport/frame_guard.hpp"
#include "runtime/clock.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/fwd.hpp>

#include <array>
#include <functional>
#include <memory>

namespace troupe {

struct cluster_options {
  size_t scheduler_threads = 2; ///< 1 or 2: actors neither compute nor block.
  size_t max_throughput = 64;   ///< Messages an actor handles in one go.
  /// Of CAF's own heartbeats; they prove only that the I/O thread lives. 0:
  /// off.
  duration heartbeat_interval = std::chrono::milliseconds{500};
  /// Without any frame for so long a connection is lost (down_msg). 0: never.
  duration connection_timeout = std::chrono::seconds{5};
  connection_limits connections;
  frame_limits frames;
};

/// What the connections of one process share.
struct transport_state {
  transport_state(const cluster_options& options, basp::node_key self_key)
    : self(self_key), frames(options.frames),
      connection_timeout(options.connection_timeout),
      connections(options.connections) {
    // nop
  }

  const basp::node_key self;
  const frame_limits frames;
  const duration connection_timeout;
  connection_table connections;
  /// What nodes may send to us (the head).
  std::shared_ptr<allow_table> from_nodes = std::make_shared<allow_table>();
  /// What the head may send to us (a node).
  std::shared_ptr<allow_table> from_head = std::make_shared<allow_table>();
};

class cluster_system {
public:
  using configure = std::function<void(caf::actor_system_config&)>;

  /// Starts the scheduler and the I/O thread; opens no port. `setup` registers
  /// message types and may set further options. Aborts the process when the
  /// threads cannot start.
  cluster_system(const cluster_options& options, const configure& setup);

  /// Same as `shutdown(10 s, 1)` unless it was called.
  ~cluster_system();

  cluster_system(const cluster_system&) = delete;
  cluster_system& operator=(const cluster_system&) = delete;

  caf::actor_system& system();

  /// Shared with all connections; safe to keep.
  const std::shared_ptr<transport_state>& transport() const;

  /// Random bytes that no other process start has.
  std::array<uint8_t, 24> incarnation() const;

  /// Ends the system; all actors must have been told to exit before. Waits for
  /// the actors, then lets connections send what they hold, then cuts them off.
  /// If all that does not return within `limit`, the process ends with
  /// `exit_code` by _exit (after flushing stdout and stderr). Handles to actors
  /// must not outlive this call.
  void shutdown(duration limit, int exit_code);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// Sets default, down, exit and exception handlers that never write to stdout
/// (CAF's own do). Unexpected messages are dropped, a normal or abnormal exit
/// message ends the actor, an exception becomes its exit reason.
void use_quiet_handlers(caf::scheduled_actor& self);

} // namespace troupe
