// The NODE actor: connects to the head, says hello, loads the experts it is
// assigned, keeps its EXPERT SHARDs, sends heartbeats, and connects again with
// backoff when the head is gone. Its experts stay in memory meanwhile.
//
//   connecting --connected--> joining --welcome--> assigned --loaded--> serving
//       ^  |failed: backoff      |refused             |                   |
//       +--+---------------------+--------- head lost +-------------------+
#pragma once

#include "actors/expert/expert_server.hpp"
#include "actors/interfaces.hpp"
#include "actors/supervision/restart_decision.hpp"
#include "actors/transport/cluster_system.hpp"
#include "actors/transport/connect.hpp"
#include "actors/transport/hello.hpp"
#include "runtime/cache/mapped_pages.hpp"
#include "runtime/engine/packed_images.hpp"

#include <caf/system_messages.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a node tells its operator.
enum class node_event : uint8_t {
  connecting,
  refused,
  loading,
  failed, ///< The assigned experts cannot be loaded.
  serving,
  lost,
};

struct node_services {
  hello self;
  connect_options head;
  restart_backoff reconnect;       ///< Between attempts to reach the head.
  restart_policy::options restart; ///< Of shards.
  std::shared_ptr<transport_state> transport;
  batch_limits limits; ///< Incarnation and layers are set per head and shard.
  std::shared_ptr<expert_store> store;
  std::shared_ptr<packed_images> images; ///< What the store is filled from.
  kernels::lanes* lanes = nullptr;
  duration delay_per_pair{};
  bool relaxed = false; ///< Serve a head whose kernels give other bits.
  std::function<void(node_event, const std::string&)> report;
  /// Told how many experts are wanted before they are loaded; may be empty.
  std::function<void(size_t)> loading;
};

class node_state_machine {
public:
  static inline const char* name = "node";

  using self_ptr = node_actor::stateful_pointer<node_state_machine>;

  void init(self_ptr self, node_services services);

  void connected(const connect_outcome& x);
  void welcome(const node_welcome& x);
  void refused(const node_refused& x);
  void assignment(const node_assignment& x);
  void loaded(const experts_loaded& x);
  void credit(const link_credit& x);
  void fault(const node_fault& x);
  void restart_shard(const shard_restart& x);
  void down(const caf::down_msg& x);
  void tick();

  /// Ends the shards before the actor itself.
  void stop();

private:
  /// An EXPERT SHARD; null while it waits for its restart.
  struct shard_slot {
    caf::strong_actor_ptr actor;
    restart_policy policy;
  };
  using holds = std::vector<std::vector<bool>>; ///< [MoE layer][expert]

  void dial();
  void retry();
  void lose_head(const std::string& why);
  void start_shards();
  void start_shard(size_t index);
  void shard_ended(size_t index, const caf::error& why);
  void stop_shards();
  void load(uint64_t map_version);
  void send_ready();
  void beat();
  void report(node_event what, const std::string& text) const;

  self_ptr self_ = nullptr;
  node_services services_;
  caf::strong_actor_ptr head_; ///< MEMBERSHIP; null while not connected.
  std::shared_ptr<peer_link> uplink_;
  uint32_t id_ = 0; ///< 0 until welcome.
  uint64_t incarnation_ = 0;
  duration heartbeat_{};
  size_t attempts_ = 0;
  holds wanted_;
  uint64_t wanted_map_ = 0;
  uint64_t loaded_map_ = 0;
  uint64_t loads_ = 0; ///< Loading jobs so far; only the last one counts.
  page_facts pages_;   ///< Of the process, when that had ended.
  std::vector<shard_slot> shards_; ///< By MoE layer.
  time_point next_dial_;
  time_point joined_at_; ///< When the hello was sent.
  bool dialing_ = false;
};

node_actor::behavior_type
node(node_actor::stateful_pointer<node_state_machine> self,
     node_services services);

} // namespace troupe
