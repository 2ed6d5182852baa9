// See tokenizer_tables.hpp.
#include "runtime/model/tokenizer_tables.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

using nlohmann::json;

namespace {

result<bpe_model> read_model(const json& x, vocabulary& vocab) {
  if (!x.is_object())
    return fail(ec::bad_format, "expected an object, found {}", x.type_name());
  // Old files leave the type out.
  if (!member_of(x, "type").is_null()) {
    auto type = text_member(x, "type");
    if (!type)
      return tl::unexpected(type.error());
    if (*type != "BPE")
      return unsupported_component(*type);
  }
  return bpe_model::from_json(x, vocab);
}

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
  token_decoder decoder;
  result<void> done = {};
  auto read = [&](const char* key, auto from_part, auto& target) {
    if (done)
      done = take(key, from_part(member_of(x, key)), target);
  };
  read("normalizer", normalizer::from_json, t.normal);
  read("pre_tokenizer", pre_tokenizer::from_json, t.words);
  read(
    "model", [&](const json& part) { return read_model(part, t.vocab); },
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
  read("decoder", token_decoder::from_json, decoder);
  if (!done)
    return tl::unexpected(done.error());
  t.list_tokens(decoder);
  return std::shared_ptr<const tokenizer_tables>{std::move(out)};
}

void tokenizer_tables::list_tokens(const token_decoder& decoder) {
  for (size_t id = 0; id < vocab.size(); ++id)
    bytes.push_back(
      decoder.bytes_of(vocab.spelling(static_cast<token_id>(id))));
  is_special.resize(bytes.size());
  for (const auto& token : added.list())
    is_special[static_cast<size_t>(token.id)] = token.special;
}

} // namespace troupe
