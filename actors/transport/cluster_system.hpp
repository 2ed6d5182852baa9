// A CAF actor system set up for the cluster, with bounded shutdown.
//
//   cluster_options o;
//   cluster_system cluster{o, [](caf::actor_system_config& c) {
//     c.add_message_type<batch>("batch");
//   }};
//   cluster.system().spawn(...);
//   cluster.shutdown(std::chrono::seconds{3}, 0);
#pragma once

#include "actors/transport/transport_state.hpp"
#include "runtime/clock.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/fwd.hpp>

#include <array>
#include <functional>
#include <memory>

namespace troupe {

struct cluster_options {
  size_t scheduler_threads = 1; ///< 1 or 2: actors neither compute nor block.
  size_t max_throughput = 64;   ///< Messages an actor handles in one go.
  /// Of CAF's own heartbeats; they prove only that the I/O thread lives. 0:
  /// off.
  duration heartbeat_interval = std::chrono::milliseconds{500};
  transport_options transport;
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
