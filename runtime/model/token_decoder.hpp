// From tokens back to bytes.
#pragma once

#include "runtime/error.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace troupe {

/// The `decoder` of a tokenizer.json: ByteLevel.
class token_decoder {
public:
  static result<token_decoder> from_json(const nlohmann::json& x);

  /// The bytes that a token spelled so stands for, wherever it is.
  std::string bytes_of(std::string_view spelling) const;
};

} // namespace troupe
