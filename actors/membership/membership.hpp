// The MEMBERSHIP actor: lets nodes in, tells them which experts to hold,
// watches them, and publishes what it knows: the cluster snapshot (map and
// states) and the peer table (how to reach them).
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/cluster_statistics.hpp"
#include "actors/interfaces.hpp"
#include "actors/membership/cluster_snapshot.hpp"
#include "actors/membership/membership_table.hpp"
#include "actors/peer_table.hpp"
#include "actors/transport/hello.hpp"
#include "runtime/placement/policies.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct membership_services {
  hello self; ///< The head's own.
  membership_table::options table;
  duration heartbeat = std::chrono::milliseconds(200);
  placement_spec placement;
  std::vector<std::string> expected; ///< Names, in the order of placement.
  std::vector<layer_index> layers;   ///< The model's MoE layers.
  uint32_t experts = 0;
  bool relaxed = false; ///< Take nodes whose kernels give other bits.
  std::shared_ptr<cluster_view> view;
  std::shared_ptr<peer_view> peers;
  std::shared_ptr<cluster_statistics> stats; ///< May be absent.
  std::shared_ptr<const actor_directory_view> directory;
  /// Told of every change of state, from the actor's thread.
  std::function<void(const member&)> on_change;
};

class membership_state {
public:
  static inline const char* name = "membership";

  using self_ptr = membership_actor::stateful_pointer<membership_state>;

  void init(self_ptr self, membership_services services);

  void join(const node_join& x);
  void ready(const node_ready& x);
  void heartbeat(const node_heartbeat& x);
  void credit(const link_credit& x);
  void late(const node_late& x);
  void fault(const fault_order& x);
  void down(const caf::actor_addr& node);
  void tick();

private:
  struct connection {
    node_id id;
    uint64_t incarnation = 0;
    caf::strong_actor_ptr node;
    std::shared_ptr<peer_link> link;
  };

  result<node_id> admit(const node_join& x, hello& theirs);
  void make_map();
  void assign(node_id id);
  void switch_map();
  void update();
  void publish(const member_change& x);
  void forget(node_id id, uint64_t incarnation);
  connection* find(uint32_t id, uint64_t incarnation);

  self_ptr self_ = nullptr;
  membership_services services_;
  std::unique_ptr<membership_table> table_;
  std::map<node_id, connection> connections_;
  std::shared_ptr<const shard_map> wanted_map_;
};

/// The first eight bytes of a hello's incarnation, as batches carry it.
uint64_t short_incarnation(const hello& x);

membership_actor::behavior_type
membership(membership_actor::stateful_pointer<membership_state> self,
           membership_services services);

} // namespace troupe
