// JSON from outside: bounded in depth, without duplicate keys, never throwing.
#pragma once

#include "runtime/error.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace troupe {

/// Nesting beyond this is refused.
inline constexpr size_t json_depth_max = 64;

/// Parses `text`; `name` stands for its source in messages. Fails with
/// bad_format: syntax (with the byte), too deep, a key that stands twice.
result<nlohmann::json> parse_json(std::string_view text,
                                  const std::string& name);

/// What `x` is, for "found ...": "\"abc\"", "7", "a list", "an object".
std::string describe(const nlohmann::json& x);

} // namespace troupe
