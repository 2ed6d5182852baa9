// See detokenizer.hpp.
#include "runtime/engine/detokenizer.hpp"

namespace troupe {

detokenizer::detokenizer(const tokenizer& tokens, special_output special)
  : stream_(tokens.stream(special)) {
  // nop
}

std::string detokenizer::push(token_id id) {
  std::string out;
  stream_.push(id, out);
  return out;
}

std::string detokenizer::flush() {
  std::string out;
  stream_.flush(out);
  return out;
}

} // namespace troupe
