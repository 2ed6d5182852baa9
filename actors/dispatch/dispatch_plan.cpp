#include "actors/dispatch/dispatch_plan.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace troupe {

namespace {

struct route_choice {
  node_id destination = local_node;
  pair_route route = pair_route::local;
};

/// Chooses the replica that computes the pair at `position`. Several serving
/// replicas share the pairs by position, which is the same on every run.
route_choice choose_replica(std::span<const node_id> replicas,
                            uint32_t position, const cluster_snapshot& view) {
  uint32_t serving = 0;
  for (auto id : replicas)
    if (view.serves(id))
      ++serving;
  if (serving == 0)
    return {local_node, pair_route::rerouted};
  auto wanted = position % serving;
  for (auto id : replicas) {
    if (!view.serves(id))
      continue;
    if (wanted == 0)
      return {id, id == local_node ? pair_route::local : pair_route::remote};
    --wanted;
  }
  return {};
}

std::string names_of(std::span<const node_id> replicas,
                     const cluster_snapshot& view) {
  std::string result;
  for (auto id : replicas) {
    auto node = view.find(id);
    if (node == nullptr)
      continue;
    if (!result.empty())
      result += ", ";
    result += fmt::format("{} ({})", node->name, to_string(node->state));
  }
  return result;
}

planned_batch grouped_by_expert(planned_batch x) {
  std::vector<uint32_t> order(x.pairs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return x.pairs[a].expert < x.pairs[b].expert;
  });
  planned_batch result{x.destination, x.route, std::move(x.rows), {}, {}};
  for (auto i : order) {
    result.pairs.push_back(x.pairs[i]);
    result.positions.push_back(x.positions[i]);
  }
  return result;
}

class planner {
public:
  planner(layer_index layer, uint32_t top_k, const cluster_snapshot& view,
          local_fallback fallback)
    : layer_(layer), top_k_(top_k), view_(view), fallback_(fallback) {
    // nop
  }

  /// @pre Positions come in ascending order.
  result<void> add(open_pair x) {
    auto replicas = view_.map->replicas(layer_, expert_id{x.expert});
    auto choice = choose_replica(replicas, x.position, view_);
    if (choice.route == pair_route::rerouted && fallback_ == local_fallback::no)
      return fail(ec::node_down,
                  "layer {}: expert {} is on {}, which does not serve, and the "
                  "local fallback is off (fallback_local = false); start the "
                  "node again or allow the fallback",
                  layer_.value, x.expert, names_of(replicas, view_));
    // Nodes before the head.
    auto key = std::tuple{choice.destination == local_node,
                          choice.destination.value, choice.route};
    auto& batch = batches_[key];
    batch.destination = choice.destination;
    batch.route = choice.route;
    auto row = x.position / top_k_;
    // Positions ascend, so the batch's last row is the only candidate.
    if (batch.rows.empty() || batch.rows.back() != row)
      batch.rows.push_back(row);
    batch.pairs.push_back(
      {static_cast<uint32_t>(batch.rows.size() - 1), expert_id{x.expert}});
    batch.positions.push_back(x.position);
    return {};
  }

  std::vector<planned_batch> take() {
    std::vector<planned_batch> result;
    result.reserve(batches_.size());
    for (auto& [key, batch] : batches_)
      result.push_back(grouped_by_expert(std::move(batch)));
    return result;
  }

private:
  layer_index layer_;
  uint32_t top_k_;
  const cluster_snapshot& view_;
  local_fallback fallback_;
  std::map<std::tuple<bool, uint32_t, pair_route>, planned_batch> batches_;
};

} // namespace

result<std::vector<planned_batch>> plan_dispatch(const routed_experts& chosen,
                                                 const cluster_snapshot& view,
                                                 local_fallback fallback) {
  TROUPE_ASSERT(chosen.top_k > 0 && view.map->has(chosen.layer));
  planner x{chosen.layer, chosen.top_k, view, fallback};
  for (uint32_t i = 0; i < chosen.experts.size(); ++i)
    if (auto added = x.add({i, chosen.experts[i]}); !added)
      return tl::unexpected(added.error());
  return x.take();
}

result<std::vector<planned_batch>>
plan_reroute(std::span<const open_pair> pairs, layer_index layer,
             uint32_t top_k, const cluster_snapshot& view,
             local_fallback fallback) {
  planner x{layer, top_k, view, fallback};
  std::vector<open_pair> ordered{pairs.begin(), pairs.end()};
  std::sort(ordered.begin(), ordered.end(),
            [](auto& a, auto& b) { return a.position < b.position; });
  for (auto& pair : ordered)
    if (auto added = x.add(pair); !added)
      return tl::unexpected(added.error());
  return x.take();
}

} // namespace troupe
