// The patterns of a tokenizer.json: {"Regex": "..."} or {"String": "..."}.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/regex.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

namespace troupe {

/// A string stands for exactly its characters; it is not empty.
using text_pattern = std::variant<std::string, regex>;

/// Reads the member `pattern` of a component.
result<text_pattern> pattern_member(const nlohmann::json& object);

} // namespace troupe
