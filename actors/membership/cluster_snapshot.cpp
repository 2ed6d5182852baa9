#include "actors/membership/cluster_snapshot.hpp"

namespace troupe {

const node_view* cluster_snapshot::find(node_id id) const {
  auto index = static_cast<size_t>(id.value) - 1;
  return id != local_node && index < nodes.size() ? &nodes[index] : nullptr;
}

bool cluster_snapshot::serves(node_id id) const {
  if (id == local_node)
    return true;
  auto node = find(id);
  return node != nullptr && node->state == node_state::alive;
}

void suspect(cluster_view& view, node_id id, uint64_t incarnation) {
  view.update([&](cluster_snapshot& x) {
    auto node = x.find(id);
    if (node != nullptr && node->incarnation == incarnation &&
        node->state == node_state::alive)
      x.nodes[id.value - 1].state = node_state::suspect;
  });
}

bool set_state(cluster_view& view, node_id id, uint64_t incarnation,
               node_state state) {
  auto changed = false;
  view.update([&](cluster_snapshot& x) {
    auto node = x.find(id);
    if (node == nullptr || node->incarnation != incarnation ||
        node->state == state)
      return;
    x.nodes[id.value - 1].state = state;
    changed = true;
  });
  return changed;
}

} // namespace troupe
