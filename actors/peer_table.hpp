// How the head reaches each node: an immutable snapshot published by
// MEMBERSHIP, read by DISPATCHERs for every batch.
#pragma once

#include "actors/peer_link.hpp"
#include "runtime/ids.hpp"
#include "runtime/published.hpp"

#include <caf/actor_control_block.hpp>

#include <map>
#include <memory>

namespace troupe {

/// One live incarnation of a node.
struct peer {
  uint64_t incarnation = 0;
  caf::strong_actor_ptr node;
  std::map<layer_index, caf::strong_actor_ptr> shards;
  std::shared_ptr<peer_link> link;
};

struct peer_table {
  std::map<node_id, peer> peers;

  /// Returns the peer if that incarnation is the current one, else nullptr.
  const peer* find(node_id id, uint64_t incarnation) const {
    auto i = peers.find(id);
    return i != peers.end() && i->second.incarnation == incarnation ? &i->second
                                                                    : nullptr;
  }
};

using peer_view = published<peer_table>;

} // namespace troupe
