// See post_processor.hpp.
#include "runtime/model/post_processor.hpp"

#include "runtime/model/tokenizer_json.hpp"

namespace troupe {

using nlohmann::json;

namespace {

constexpr size_t template_tokens_max = 256;

result<void> append_id(const json& x, const vocabulary& vocab,
                       std::vector<token_id>& out) {
  auto id = to_token_id(x);
  if (!id)
    return tl::unexpected(id.error());
  if (vocab.spelling(*id).empty())
    return fail(ec::bad_format, "id {} is not in the vocabulary", *id);
  out.push_back(*id);
  return {};
}

/// Appends the ids that `special_tokens` of a template gives to `name`.
result<void> append_ids(const json& special_tokens, const std::string& name,
                        const vocabulary& vocab, std::vector<token_id>& out) {
  const auto& ids = member_of(member_of(special_tokens, name.c_str()), "ids");
  if (!ids.is_array())
    return fail(ec::bad_format,
                "special_tokens: expected ids for \"{}\", found {}", name,
                ids.type_name());
  for (const auto& x : ids)
    if (auto added = append_id(x, vocab, out); !added)
      return wrap("special_tokens: ids", added.error());
  return {};
}

} // namespace

result<post_processor> post_processor::from_json(const json& x,
                                                 const vocabulary& vocab) {
  auto list = components(x, "processors");
  if (!list)
    return tl::unexpected(list.error());
  post_processor out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    if (*type == "ByteLevel")
      continue; // it only moves offsets
    result<void> added;
    if (*type == "TemplateProcessing")
      added = out.add_template(*one, vocab);
    else if (*type == "BertProcessing" || *type == "RobertaProcessing")
      added = out.add_pair(*one, vocab);
    else
      return unsupported_component(*type);
    if (!added)
      return wrap(*type, added.error());
  }
  return out;
}

/// A template in a sequence stands around what is there already.
result<void> post_processor::add_template(const json& x,
                                          const vocabulary& vocab) {
  const auto& single = member_of(x, "single");
  if (!single.is_array() || single.size() > template_tokens_max)
    return fail(ec::bad_format, "single: expected a list of at most {}",
                template_tokens_max);
  std::vector<token_id> before;
  std::vector<token_id> after;
  size_t sequences = 0;
  for (const auto& item : single) {
    const auto& token = member_of(item, "SpecialToken");
    if (member_of(item, "Sequence").is_object()) {
      ++sequences;
      continue;
    }
    auto name = text_member(token, "id");
    if (!name)
      return wrap("single: SpecialToken", name.error());
    auto added = append_ids(member_of(x, "special_tokens"), *name, vocab,
                            sequences == 0 ? before : after);
    if (!added)
      return added;
  }
  if (sequences != 1)
    return fail(ec::unsupported,
                "single: expected the text once, found it {} times", sequences);
  before_.insert(before_.begin(), before.begin(), before.end());
  after_.insert(after_.end(), after.begin(), after.end());
  return {};
}

/// One token before the text ("cls") and one after it ("sep").
result<void> post_processor::add_pair(const json& x, const vocabulary& vocab) {
  std::vector<token_id> ids;
  for (auto* key : {"cls", "sep"}) {
    const auto& token = member_of(x, key);
    if (!token.is_array() || token.size() != 2)
      return fail(ec::bad_format, "{}: expected a token and its id, found {}",
                  key, token.type_name());
    if (auto added = append_id(token[1], vocab, ids); !added)
      return wrap(key, added.error());
  }
  before_.insert(before_.begin(), ids[0]);
  after_.push_back(ids[1]);
  return {};
}

} // namespace troupe
