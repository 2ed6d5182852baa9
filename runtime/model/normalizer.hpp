// The first stage of a tokenizer: rewrites text to its normal form.
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/unicode.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The `normalizer` of a tokenizer.json: none, NFC, NFD, NFKC, NFKD or a
/// sequence of these.
class normalizer {
public:
  static result<normalizer> from_json(const nlohmann::json& x);

  /// True if `text` surely stays as it is: no copy needed.
  bool keeps(std::string_view text) const;

  /// Returns the normalized text. @pre `text` is valid UTF-8.
  result<std::string> apply(std::string_view text) const;

private:
  std::vector<normal_form> forms_; // applied in turn
};

} // namespace troupe
