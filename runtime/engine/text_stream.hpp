// The text of a growing token stream up to its first stop string: what a
// reader of the answer sees, and whether the answer ends here.
#pragma once

#include "runtime/engine/detokenizer.hpp"
#include "runtime/engine/sampling_params.hpp"
#include "runtime/engine/stop_matcher.hpp"

#include <string>

namespace troupe {

class text_stream {
public:
  /// Fails with invalid_argument for stop strings that are out of bounds.
  static result<text_stream> make(const tokenizer& tokens,
                                  const sampling_params& params);

  /// Takes the next token; see `stop_matcher::output`.
  stop_matcher::output push(token_id id);

  /// Ends the stream; returns the text held back until now.
  std::string flush();

private:
  text_stream(detokenizer text, stop_matcher matcher);

  detokenizer text_;
  stop_matcher matcher_;
};

} // namespace troupe
