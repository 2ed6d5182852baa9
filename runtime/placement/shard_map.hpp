// Which nodes hold which expert: an immutable, versioned value that is
// published as a whole and never edited in place.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// LOCAL: the head itself, whose local experts (FALLBACK) serve the pair.
/// Remote nodes are numbered from 1.
inline constexpr node_id local_node{0};

/// The replicas of one expert, most preferred first; never empty.
using replica_list = std::vector<node_id>;

/// For each MoE layer and expert its replicas.
class shard_map {
public:
  /// A map of no layers, version 0.
  shard_map() = default;

  /// Builds a map from `replicas` [layers, experts] (row by row).
  /// Errors: invalid_argument when a count does not fit, `layers`
  /// does not ascend, an expert has no replica or names a node twice.
  static result<shard_map> make(uint64_t version,
                                std::vector<layer_index> layers,
                                uint32_t experts,
                                const std::vector<replica_list>& replicas);

  /// Grows with every published map; 0 is "none yet".
  uint64_t version() const noexcept {
    return version_;
  }

  /// The MoE layers, ascending (dense layers have no row).
  std::span<const layer_index> layers() const noexcept {
    return layers_;
  }

  /// Experts per layer.
  uint32_t experts() const noexcept {
    return experts_;
  }

  bool has(layer_index layer) const noexcept;

  /// The replicas of an expert, most preferred first, at least one.
  /// @pre `has(layer)` and `expert.value < experts()`.
  std::span<const node_id> replicas(layer_index layer, expert_id expert) const;

  /// The experts of `layer` that `node` holds a replica of, ascending.
  /// @pre `has(layer)`.
  std::vector<expert_id> experts_of(node_id node, layer_index layer) const;

  /// Every node named by the map, ascending, LOCAL included when named.
  std::vector<node_id> nodes() const;

  /// The same map without `node`: an expert whose only replica it held becomes
  /// LOCAL. @pre `node` is not LOCAL.
  shard_map without(node_id node, uint64_t version) const;

  bool operator==(const shard_map&) const = default;

private:
  /// Index of the layer in `layers_`; their number when it has none.
  size_t row(layer_index layer) const noexcept;

  uint64_t version_ = 0;
  uint32_t experts_ = 0;
  std::vector<layer_index> layers_;
  std::vector<uint32_t> offsets_; ///< [layers * experts + 1] into nodes_
  std::vector<node_id> nodes_;
};

} // namespace troupe
