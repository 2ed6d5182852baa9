// See token_model.hpp.
#include "runtime/model/token_model.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

result<token_model> token_model::from_json(const nlohmann::json& x,
                                           alphabet letters,
                                           vocabulary& vocab) {
  if (!x.is_object())
    return fail(ec::bad_format, "expected an object, found {}", x.type_name());
  token_model out;
  std::string type = "BPE"; // old files leave it out
  if (!member_of(x, "type").is_null()) {
    auto named = text_member(x, "type");
    if (!named)
      return tl::unexpected(named.error());
    type = *named;
  }
  if (type == "BPE") {
    auto model = bpe_model::from_json(x, letters, vocab);
    if (!model)
      return tl::unexpected(model.error());
    out.model_ = std::move(*model);
    return out;
  }
  if (type != "Unigram")
    return unsupported_component(type);
  if (letters == alphabet::bytes)
    return unsupported_component("Unigram with ByteLevel");
  auto model = unigram_model::from_json(x, vocab);
  if (!model)
    return tl::unexpected(model.error());
  out.model_ = std::move(*model);
  return out;
}

result<void> token_model::encode(std::string_view word, const vocabulary& vocab,
                                 token_scratch& scratch,
                                 std::vector<token_id>& out) const {
  if (auto* bpe = std::get_if<bpe_model>(&model_))
    return bpe->encode(word, vocab, scratch.bpe, out);
  return std::get<unigram_model>(model_).encode(word, scratch.unigram, out);
}

bool token_model::cuts_before(std::string_view mark,
                              const vocabulary& vocab) const {
  auto* bpe = std::get_if<bpe_model>(&model_);
  return bpe && bpe->cuts_before(mark, vocab);
}

} // namespace troupe
