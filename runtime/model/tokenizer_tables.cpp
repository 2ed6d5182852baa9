// See tokenizer_tables.hpp.
#include "runtime/model/tokenizer_tables.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

using nlohmann::json;

namespace {

/// Stands for a space in vocabularies made by SentencePiece.
constexpr std::string_view word_mark = "\xE2\x96\x81";

/// Takes the value out of `read` into `target`, or says where it failed.
template <class T>
result<void> take(const char* where, result<T>&& read, T& target) {
  if (!read)
    return wrap(where, std::move(read.error()));
  target = std::move(*read);
  return {};
}

} // namespace

result<std::shared_ptr<const tokenizer_tables>>
tokenizer_tables::from_json(const json& x) {
  auto out = std::make_shared<tokenizer_tables>();
  auto& t = *out;
  result<void> done = {};
  auto read = [&](const char* key, auto from_part, auto& target) {
    if (done)
      done = take(key, from_part(member_of(x, key)), target);
  };
  read("normalizer", normalizer::from_json, t.normal);
  read("pre_tokenizer", pre_tokenizer::from_json, t.words);
  read(
    "model",
    [&](const json& part) {
      auto letters =
        t.words.is_byte_level() ? alphabet::bytes : alphabet::characters;
      return token_model::from_json(part, letters, t.vocab);
    },
    t.model);
  read(
    "added_tokens",
    [&](const json& part) {
      return added_tokens::from_json(part, t.normal, t.vocab);
    },
    t.added);
  read(
    "post_processor",
    [&](const json& part) { return post_processor::from_json(part, t.vocab); },
    t.around);
  read("decoder", token_decoder::from_json, t.decoder);
  if (!done)
    return tl::unexpected(done.error());
  // A text in one piece is encoded word by word where that changes nothing.
  if (t.words.rules().empty() && t.model.cuts_before(word_mark, t.vocab))
    t.words.add(before_marks_rule{std::string{word_mark}});
  t.list_tokens();
  return std::shared_ptr<const tokenizer_tables>{std::move(out)};
}

void tokenizer_tables::list_tokens() {
  using enum token_decoder::position;
  for (size_t id = 0; id < vocab.size(); ++id) {
    auto token = decoder.each(vocab.spelling(static_cast<token_id>(id)), later);
    fallback_bytes.push_back(decoder.fallback_byte(token));
    texts.push_back(decoder.late(token, later));
  }
  is_special.resize(texts.size());
  for (const auto& token : added.list())
    is_special[static_cast<size_t>(token.id)] = token.special;
}

} // namespace troupe
