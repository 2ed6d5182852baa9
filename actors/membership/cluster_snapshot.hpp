// What everybody may know of the cluster at one moment: the shard map and the
// state of each node. Published as a whole (runtime/published.hpp); readers on
// the hot path never ask an actor.
#pragma once

#include "actors/membership/failure_detector.hpp"
#include "runtime/ids.hpp"
#include "runtime/placement/shard_map.hpp"
#include "runtime/published.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// One node as others see it. A name keeps its id through restarts; each
/// process that takes the name is a new incarnation.
struct node_view {
  node_id id;
  std::string name;
  node_state state = node_state::joining;
  uint64_t incarnation = 0; ///< Of the process that holds the name now.
};

struct cluster_snapshot {
  std::shared_ptr<const shard_map> map = std::make_shared<const shard_map>();
  std::vector<node_view> nodes; ///< nodes[i].id == i + 1

  /// Returns the node, or nullptr for LOCAL and unknown ids.
  const node_view* find(node_id id) const;

  /// Returns whether new pairs may be sent to `id`; always true for LOCAL.
  bool serves(node_id id) const;
};

using cluster_view = published<cluster_snapshot>;

/// Turns an alive node into a suspect one; other states stay as they are.
void suspect(cluster_view& view, node_id id, uint64_t incarnation);

/// Sets the state of one incarnation; does nothing if another one holds the
/// name by now. Returns whether the state changed.
bool set_state(cluster_view& view, node_id id, uint64_t incarnation,
               node_state state);

} // namespace troupe
