// Checked access to the parts of a `tokenizer.json`. Every error names the
// place ("pre_tokenizer: Split: behavior"), what is expected and what is there.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Largest accepted token id + 1.
constexpr token_id token_id_limit = 1 << 22;

/// Returns the member `key`, or null if there is none.
const nlohmann::json& member_of(const nlohmann::json& object, const char* key);

/// Returns the `type` of a component. Fails if `x` is no object with a type.
result<std::string> component_type(const nlohmann::json& x);

/// Returns the string `key`.
result<std::string> text_member(const nlohmann::json& object, const char* key);

/// Returns the boolean `key`, or `fallback` if it is missing or null.
result<bool> flag_member(const nlohmann::json& object, const char* key,
                         bool fallback);

/// Returns the one character of the string `key`, in UTF-8.
result<std::string> character_member(const nlohmann::json& object,
                                     const char* key);

/// Returns the number `key`, a whole one from 0 to `most`.
result<size_t> count_member(const nlohmann::json& object, const char* key,
                            size_t most);

/// Reads a token id.
result<token_id> to_token_id(const nlohmann::json& x);

/// Returns the components of `x`: none if it is null, those of the members of
/// the list `key` if its type is "Sequence", else itself. At most 64.
result<std::vector<const nlohmann::json*>> components(const nlohmann::json& x,
                                                      const char* key);

/// The error for a component that is valid but not implemented.
tl::unexpected<error> unsupported_component(std::string_view what);

} // namespace troupe
