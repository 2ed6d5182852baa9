#include "runtime/engine/text_stream.hpp"

#include <utility>

namespace troupe {

result<text_stream> text_stream::make(const tokenizer& tokens,
                                      const sampling_params& params) {
  auto matcher = stop_matcher::make(params.stop, {});
  if (!matcher)
    return tl::unexpected(std::move(matcher.error()));
  return text_stream{detokenizer{tokens}, std::move(*matcher)};
}

text_stream::text_stream(detokenizer text, stop_matcher matcher)
  : text_(std::move(text)), matcher_(std::move(matcher)) {
  // nop
}

stop_matcher::output text_stream::push(token_id id) {
  return matcher_.push(text_.push(id));
}

std::string text_stream::flush() {
  auto last = matcher_.push(text_.flush());
  return last.stopped ? last.text : last.text + matcher_.flush();
}

} // namespace troupe
