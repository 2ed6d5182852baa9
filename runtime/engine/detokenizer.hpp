// Text of a token stream as it comes: only whole characters leave it, and all
// pieces together equal `tokenizer::decode` of all ids.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/model/tokenizer.hpp"

#include <string>

namespace troupe {

/// Turns ids into text one by one. Holds at most three bytes back.
class detokenizer {
public:
  explicit detokenizer(tokenizer tokens,
                       special_output special = special_output::skip);

  /// Returns the text that became complete with `id`; possibly empty.
  /// Always valid UTF-8; bytes that can be no character give U+FFFD.
  std::string push(token_id id);

  /// Ends the text: a character cut short becomes U+FFFD.
  std::string flush();

private:
  tokenizer tokens_;
  special_output special_;
  std::string pending_; // bytes of a character that is not complete
};

} // namespace troupe
