// The DISPATCHER actor of one MoE layer: carries out what its dispatch_core
// decides. It never computes and never waits.
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/cluster_statistics.hpp"
#include "actors/dispatch/dispatch_core.hpp"
#include "actors/interfaces.hpp"
#include "actors/peer_table.hpp"
#include "runtime/trace/span_sink.hpp"

#include <memory>

namespace troupe {

/// What all dispatchers of a head share; outlives them.
struct dispatch_services {
  std::shared_ptr<cluster_view> view;
  std::shared_ptr<const actor_directory_view> directory;
  std::shared_ptr<const peer_view> peers;
  std::shared_ptr<cluster_statistics> stats;
  std::shared_ptr<span_sink> spans; ///< Null: nothing is traced.
  std::shared_ptr<std::atomic<uint64_t>> batch_ids;
};

class dispatcher_state {
public:
  static inline const char* name = "dispatcher";

  void init(dispatcher_actor::stateful_pointer<dispatcher_state> self,
            dispatch_options options, dispatch_services services);

  void start(const dispatch_request& x);
  void reply(const expert_reply& x);
  void lost(const node_lost& x);
  void tick();

private:
  using self_ptr = dispatcher_actor::stateful_pointer<dispatcher_state>;

  /// The actor system's clock: `steady`, or a virtual one in tests.
  time_point now() const;
  std::shared_ptr<const cluster_snapshot> view() const;
  void take_credit(const expert_reply& x);
  void apply(dispatch_effects effects);
  void report_late(const node_late& x);
  bool send(const outgoing_batch& x);
  bool send_remote(const outgoing_batch& x);
  void count(const batch_outcome& x);
  void trace(const batch_outcome& x);
  void watch_deadlines();

  self_ptr self_ = nullptr;
  layer_index layer_;
  size_t row_bytes_ = 0;
  dispatch_services services_;
  std::unique_ptr<dispatch_core> core_;
  bool watching_ = false;
};

dispatcher_actor::behavior_type
dispatcher(dispatcher_actor::stateful_pointer<dispatcher_state> self,
           dispatch_options options, dispatch_services services);

} // namespace troupe
