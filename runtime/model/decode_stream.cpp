// See decode_stream.hpp.
#include "runtime/model/decode_stream.hpp"

#include "runtime/model/tokenizer_tables.hpp"
#include "runtime/model/utf8.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

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

decode_stream::decode_stream(std::shared_ptr<const tokenizer_tables> tables,
                             special_output special, ill_formed bad)
  : tables_(std::move(tables)), special_(special), bad_(bad),
    progress_(tables_->decoder.whole().size()) {
  // nop
}

void decode_stream::push(token_id id, std::string& out) {
  const auto& t = *tables_;
  auto index = static_cast<size_t>(id);
  if (id < 0 || index >= t.texts.size() || t.vocab.spelling(id).empty())
    return;
  if (special_ == special_output::skip && t.is_special[index] != 0)
    return;
  if (auto byte = t.fallback_bytes[index]; byte >= 0) {
    run_.push_back(static_cast<char>(byte));
    return;
  }
  end_run(out);
  using enum token_decoder::position;
  if (any_token_) {
    put_token(t.texts[index], out);
  } else {
    auto token = t.decoder.each(t.vocab.spelling(id), first);
    put_token(t.decoder.late(token, first), out);
  }
}

void decode_stream::flush(std::string& out) {
  end_run(out);
  if (bad_ == ill_formed::keep) {
    put_text(pending_, out);
  } else {
    std::string repaired;
    append_repaired(repaired, pending_);
    put_text(repaired, out);
  }
  pending_.clear();
  std::fill(progress_.begin(), progress_.end(), progress{});
  any_token_ = false;
}

/// The bytes of a run are a text together, or each of them is a mistake.
void decode_stream::end_run(std::string& out) {
  if (run_.empty())
    return;
  bool is_text = valid_utf8_length(run_) == run_.size();
  auto run = std::exchange(run_, {});
  auto put = [&](std::string_view token) {
    using enum token_decoder::position;
    put_token(tables_->decoder.late(token, any_token_ ? later : first), out);
  };
  if (is_text || bad_ == ill_formed::keep)
    put(run);
  else
    for (size_t i = 0; i < run.size(); ++i)
      put(replacement_character);
}

void decode_stream::put_token(std::string_view token, std::string& out) {
  any_token_ = true;
  if (tables_->decoder.join() == token_join::bytes)
    put_bytes(token, out);
  else
    put_text(token, out);
}

void decode_stream::put_bytes(std::string_view bytes, std::string& out) {
  pending_ += bytes;
  auto complete = pending_.size() - incomplete_length(pending_);
  auto ready = std::string_view{pending_}.substr(0, complete);
  if (bad_ == ill_formed::keep || valid_utf8_length(ready) == ready.size()) {
    put_text(ready, out);
  } else {
    std::string repaired;
    append_repaired(repaired, ready);
    put_text(repaired, out);
  }
  pending_.erase(0, complete);
}

void decode_stream::put_text(std::string_view text, std::string& out) {
  if (progress_.empty()) {
    out += text;
    return;
  }
  std::string rest{text};
  for (size_t i = 0; i < progress_.size(); ++i) {
    const auto& step = tables_->decoder.whole()[i];
    if (auto* replaces = std::get_if<decoder_replace>(&step))
      rest = replaced(rest, std::get<std::string>(replaces->pattern),
                      replaces->content);
    else
      rest = strip(i, std::move(rest));
  }
  out += rest;
}

/// Takes off the start at once; holds back what may be taken off the end.
std::string decode_stream::strip(size_t step, std::string text) {
  const auto& rule = std::get<decoder_strip>(tables_->decoder.whole()[step]);
  auto& state = progress_[step];
  std::string_view rest = text;
  while (!state.started && !rest.empty()) {
    if (state.taken < rule.start && rest.starts_with(rule.character)) {
      rest.remove_prefix(rule.character.size());
      ++state.taken;
    } else {
      state.started = true;
    }
  }
  auto out = state.held + std::string{rest};
  auto kept = std::string_view{out};
  for (size_t i = 0; i < rule.stop && kept.ends_with(rule.character); ++i)
    kept.remove_suffix(rule.character.size());
  state.held = out.substr(kept.size());
  out.resize(kept.size());
  return out;
}

} // namespace troupe
