// The symbolic sizes of tensor shapes in family files: a number, or a size of
// the recipe with an optional factor and divisor: "4", "hidden_size",
// "2*expert_size", "hidden_size/32" (rounded up).
#pragma once

#include "runtime/model/model_config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The value of `text` for `x`; nullopt if it is no size expression.
std::optional<uint64_t> size_of_expression(std::string_view text,
                                           const model_config& x);

/// Names of the sizes, for messages.
std::vector<std::string_view> size_names();

} // namespace troupe
