// Stored as one array of nodes with offsets per (layer, expert), row by row.
#include "runtime/placement/shard_map.hpp"

#include "runtime/assert.hpp"

#include <algorithm>

namespace troupe {

namespace {

result<void> check_layers(std::span<const layer_index> layers) {
  for (size_t i = 1; i < layers.size(); ++i) {
    if (layers[i] <= layers[i - 1])
      return fail(ec::invalid_argument,
                  "shard map: layers must ascend, found {} after {}",
                  layers[i].value, layers[i - 1].value);
  }
  return {};
}

result<void> check_replicas(const replica_list& nodes, layer_index layer,
                            size_t expert) {
  if (nodes.empty())
    return fail(ec::invalid_argument,
                "shard map: expert {} of layer {} has no replica", expert,
                layer.value);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const auto first = nodes.begin();
    const auto here = first + static_cast<std::ptrdiff_t>(i);
    if (std::find(first, here, *here) != here)
      return fail(ec::invalid_argument,
                  "shard map: expert {} of layer {} names node {} twice",
                  expert, layer.value, here->value);
  }
  return {};
}

} // namespace

result<shard_map> shard_map::make(uint64_t version,
                                  std::vector<layer_index> layers,
                                  uint32_t experts,
                                  const std::vector<replica_list>& replicas) {
  if (replicas.size() != layers.size() * experts)
    return fail(ec::invalid_argument,
                "shard map: expected {} layers x {} experts replica lists, "
                "found {}",
                layers.size(), experts, replicas.size());
  if (auto ok = check_layers(layers); !ok)
    return tl::unexpected{ok.error()};
  shard_map out;
  out.version_ = version;
  out.experts_ = experts;
  out.layers_ = std::move(layers);
  out.offsets_.reserve(replicas.size() + 1);
  out.offsets_.push_back(0);
  for (size_t i = 0; i < replicas.size(); ++i) {
    const auto& nodes = replicas[i];
    if (auto ok = check_replicas(nodes, out.layers_[i / experts], i % experts);
        !ok)
      return tl::unexpected{ok.error()};
    out.nodes_.insert(out.nodes_.end(), nodes.begin(), nodes.end());
    out.offsets_.push_back(static_cast<uint32_t>(out.nodes_.size()));
  }
  return out;
}

bool shard_map::has(layer_index layer) const noexcept {
  return row(layer) != layers_.size();
}

std::span<const node_id> shard_map::replicas(layer_index layer,
                                             expert_id expert) const {
  const auto at_row = row(layer);
  TROUPE_ASSERT(at_row < layers_.size() && expert.value < experts_);
  const auto i = at_row * experts_ + expert.value;
  return std::span{nodes_}.subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::vector<expert_id> shard_map::experts_of(node_id node,
                                             layer_index layer) const {
  std::vector<expert_id> out;
  for (uint32_t e = 0; e < experts_; ++e) {
    const auto nodes = replicas(layer, expert_id{e});
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end())
      out.push_back(expert_id{e});
  }
  return out;
}

std::vector<node_id> shard_map::nodes() const {
  auto out = nodes_;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

shard_map shard_map::without(node_id node, uint64_t version) const {
  TROUPE_ASSERT(node != local_node);
  std::vector<replica_list> kept;
  kept.reserve(layers_.size() * experts_);
  for (auto layer : layers_) {
    for (uint32_t e = 0; e < experts_; ++e) {
      const auto nodes = replicas(layer, expert_id{e});
      auto& list = kept.emplace_back();
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(list),
                   [node](node_id x) { return x != node; });
      if (list.empty())
        list.push_back(local_node);
    }
  }
  auto out = make(version, layers_, experts_, kept);
  TROUPE_ASSERT(out.has_value());
  return std::move(*out);
}

size_t shard_map::row(layer_index layer) const noexcept {
  const auto i = std::lower_bound(layers_.begin(), layers_.end(), layer);
  if (i == layers_.end() || *i != layer)
    return layers_.size();
  return static_cast<size_t>(i - layers_.begin());
}

} // namespace troupe
