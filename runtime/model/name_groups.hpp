// Many names that differ in their numbers only, as one pattern: what a folder
// of thousands of tensors is spoken of in.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct name_group {
  std::string pattern; ///< "model.layers.{0-47}.mlp.gate.weight"
  size_t count = 0;    ///< Names in it; may be fewer than the pattern spans.
};

/// The name without its numbers: equal for names of one group. A number stands
/// alone between characters that are no letters, so "w1" has none.
std::string name_shape(std::string_view name);

/// Groups in the order of their first names. A group's pattern has, for each
/// number that differs, the values that occur.
std::vector<name_group> group_names(std::span<const std::string> names);

/// "a, b and 3 more kinds", each group with its count: "a.{0-9} (10)".
std::string list_names(std::span<const std::string> names, size_t kinds_max);

} // namespace troupe
