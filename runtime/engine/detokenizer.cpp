// See detokenizer.hpp.
#include "runtime/engine/detokenizer.hpp"

#include "runtime/model/utf8.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// Length in bytes of a character at the end of `text` that lacks its rest.
size_t incomplete_length(std::string_view text) {
  for (size_t length = std::min<size_t>(3, text.size()); length > 0; --length) {
    auto piece = first_utf8_piece(text.substr(text.size() - length));
    if (piece.kind == utf8_kind::incomplete && piece.length == length)
      return length;
  }
  return 0;
}

} // namespace

detokenizer::detokenizer(tokenizer tokens, special_output special)
  : tokens_(std::move(tokens)), special_(special) {
  // nop
}

std::string detokenizer::push(token_id id) {
  if (special_ == special_output::skip && tokens_.is_special(id))
    return {};
  pending_ += tokens_.token_bytes(id);
  auto complete = pending_.size() - incomplete_length(pending_);
  std::string out;
  append_repaired(out, std::string_view{pending_}.substr(0, complete));
  pending_.erase(0, complete);
  return out;
}

std::string detokenizer::flush() {
  std::string out;
  append_repaired(out, pending_);
  pending_.clear();
  return out;
}

} // namespace troupe
