// Placement policies: pure functions from nodes to the owner of each expert.
// A "slot" is a place in the list of nodes; a slot whose node is gone holds
// `local_node`, so that the others keep their experts meanwhile.
#pragma once

#include "runtime/placement/shard_map.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// Expert e belongs to slot e mod slots: over [1, 2] the owners are 1 2 1 2 ...
/// No slots: all LOCAL. Returns [experts].
std::vector<node_id> place_round_robin(std::span<const node_id> slots,
                                       uint32_t experts);

/// Contiguous ranges in proportion to `weights`, rounded by largest remainder
/// (ties to the earlier slot): 3:1 over 8 experts gives 6 and 2.
/// @pre As many weights as slots, all finite and >= 0, one of them > 0.
std::vector<node_id> place_weighted(std::span<const node_id> slots,
                                    std::span<const double> weights,
                                    uint32_t experts);

/// What `--placement` asks for.
struct placement_spec {
  enum class policy : uint8_t { round_robin, weighted, local };

  policy kind = policy::round_robin;
  std::vector<double> weights; ///< one per slot; of `weighted` only

  bool operator==(const placement_spec&) const = default;
};

/// Reads "round_robin", "local" or "weighted:1,2".
/// Errors: invalid_argument for anything else.
result<placement_spec> parse_placement(std::string_view text);

/// The inverse of `parse_placement`.
std::string to_string(const placement_spec& spec);

/// Places every MoE layer alike by `spec`. No slots: all LOCAL.
/// Errors: invalid_argument when the weights do not match the slots.
result<shard_map> make_shard_map(const placement_spec& spec,
                                 std::span<const node_id> slots,
                                 std::vector<layer_index> layers,
                                 uint32_t experts, uint64_t version);

} // namespace troupe
