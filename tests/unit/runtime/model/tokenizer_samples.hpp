// Tokenizers for tests: the demo model's, and variants of it.
#pragma once

#include "runtime/model/tokenizer.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace troupe::test {

/// The demo model's tokenizer.json. Tests run in the repository's root.
const nlohmann::json& demo_tokenizer_json();

/// Reads a JSON file below tests/golden/tokenizers.
nlohmann::json golden_json(const std::string& name);

/// What variants are made of: "demo", or a file below tests/golden/tokenizers.
const nlohmann::json& base_json(const std::string& base);

/// A base with a JSON merge patch applied. Must be valid.
tokenizer tokenizer_with(const nlohmann::json& patch,
                         const std::string& base = "demo");

/// The demo tokenizer.
inline tokenizer demo_tokenizer() {
  return tokenizer_with(nlohmann::json::object());
}

} // namespace troupe::test
