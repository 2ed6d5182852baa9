// JSON text to values. Keys keep their order, which templates print.
#pragma once

#include "runtime/template/value.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace troupe::jinja {

/// Nesting of JSON beyond this is refused.
inline constexpr size_t json_depth_max = 64;

/// Parses JSON from a caller: strings are marked `from`. Fails with bad_format:
/// syntax, too deep, a key that stands twice, a whole number beyond 64 bits.
result<value> parse_json_value(std::string_view text, const std::string& name,
                               origin from = origin::content);

} // namespace troupe::jinja
