// Splits the (row, k) pairs of one MoE layer into one batch per destination.
// Pure: the map, the node states and the router's choice go in.
#pragma once

#include "actors/membership/cluster_snapshot.hpp"
#include "runtime/engine/expert_batch.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Where a pair is computed, as the statistics count it.
enum class pair_route : uint8_t {
  local,    ///< Placed LOCAL.
  remote,   ///< On a node that holds the expert.
  rerouted, ///< Placed on nodes none of which serves: FALLBACK computes it.
};

/// The pairs of one destination. `rows[i]` is the row of the pass that is row i
/// of the batch (each needed row once, ascending); `positions[i]` is row * k +
/// j of pair i: its place in the layer's result. Pairs are grouped by expert,
/// so that results can leave expert by expert.
struct planned_batch {
  node_id destination = local_node;
  pair_route route = pair_route::local;
  std::vector<uint32_t> rows;
  std::vector<expert_pair> pairs;
  std::vector<uint32_t> positions;
};

/// The experts that the router chose: [rows, top_k], row by row.
struct routed_experts {
  layer_index layer;
  uint32_t top_k = 0;
  std::span<const uint32_t> experts;
};

/// A pair's place and its expert, for planning a part of a layer again.
struct open_pair {
  uint32_t position = 0;
  uint32_t expert = 0;
};

/// Whether pairs whose nodes do not serve may be computed by FALLBACK.
enum class local_fallback : uint8_t { yes, no };

/// Plans all pairs of a layer. Batches come in order of destination, those for
/// nodes first: they leave before local experts begin. Fails with node_down
/// (naming layer, expert and node) when a pair's nodes do not serve and
/// fallback is off.
result<std::vector<planned_batch>> plan_dispatch(const routed_experts& chosen,
                                                 const cluster_snapshot& view,
                                                 local_fallback fallback);

/// Plans the still open pairs of a batch that failed, in any order, after the
/// failed node's state was changed in `view`: to another replica that serves,
/// else to FALLBACK.
result<std::vector<planned_batch>>
plan_reroute(std::span<const open_pair> pairs, layer_index layer,
             uint32_t top_k, const cluster_snapshot& view,
             local_fallback fallback);

} // namespace troupe
