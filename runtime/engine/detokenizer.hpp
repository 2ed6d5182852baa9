// Text of a token stream as it comes: only whole characters leave it, and all
// pieces together equal `tokenizer::decode` of all ids.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/model/decode_stream.hpp"
#include "runtime/model/tokenizer.hpp"

#include <string>

namespace troupe {

/// Turns ids into text one by one. Holds back the bytes of a character that is
/// not complete, and those of a run of tokens that stand for single bytes.
class detokenizer {
public:
  explicit detokenizer(const tokenizer& tokens,
                       special_output special = special_output::skip);

  /// Returns the text that became complete with `id`; possibly empty.
  /// Always valid UTF-8; bytes that can be no character give U+FFFD.
  std::string push(token_id id);

  /// Ends the text: a character cut short becomes U+FFFD.
  std::string flush();

private:
  decode_stream stream_;
};

} // namespace troupe
