// See token_decoder.hpp.
#include "runtime/model/token_decoder.hpp"

#include "runtime/model/byte_level.hpp"
#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"

#include <charconv>

namespace troupe {

using nlohmann::json;

namespace {

constexpr size_t strip_max = 1024;

result<decoder_step> replace_of(const json& x) {
  auto pattern = pattern_member(x);
  if (!pattern)
    return tl::unexpected(pattern.error());
  auto content = text_member(x, "content");
  if (!content)
    return tl::unexpected(content.error());
  return decoder_replace{std::move(*pattern), std::move(*content)};
}

result<decoder_step> strip_of(const json& x) {
  auto character = character_member(x, "content");
  if (!character)
    return tl::unexpected(character.error());
  auto start = count_member(x, "start", strip_max);
  auto stop = count_member(x, "stop", strip_max);
  for (auto* count : {&start, &stop})
    if (!*count)
      return tl::unexpected(count->error());
  return decoder_strip{std::move(*character), *start, *stop};
}

result<decoder_step> metaspace_of(const json& x) {
  auto mark = character_member(x, "replacement");
  if (!mark)
    return tl::unexpected(mark.error());
  auto adds = flag_member(x, "add_prefix_space", true);
  if (!adds)
    return tl::unexpected(adds.error());
  bool never = member_of(x, "prepend_scheme").is_string() &&
               x["prepend_scheme"].get_ref<const std::string&>() == "never";
  return decoder_metaspace{std::move(*mark), *adds && !never};
}

std::string run(const decoder_replace& x, std::string_view token) {
  if (auto* literal = std::get_if<std::string>(&x.pattern))
    return replaced(token, *literal, x.content);
  std::string out;
  size_t done = 0;
  regex_scanner scanner{std::get<regex>(x.pattern)};
  match_walk matches{scanner, token};
  // A token that is too hard for the pattern stays as it is from there on.
  for (auto match = matches.next(); match && *match; match = matches.next()) {
    out.append(token, done, (*match)->begin - done);
    out += x.content;
    done = (*match)->end;
  }
  return out.append(token, done);
}

std::string run(const decoder_strip& x, std::string_view token) {
  for (size_t i = 0; i < x.start && token.starts_with(x.character); ++i)
    token.remove_prefix(x.character.size());
  for (size_t i = 0; i < x.stop && token.ends_with(x.character); ++i)
    token.remove_suffix(x.character.size());
  return std::string{token};
}

std::string run_all(const std::vector<decoder_step>& steps, std::string token,
                    token_decoder::position at) {
  for (const auto& step : steps) {
    if (auto* replaces = std::get_if<decoder_replace>(&step)) {
      token = run(*replaces, token);
    } else if (auto* strips = std::get_if<decoder_strip>(&step)) {
      token = run(*strips, token);
    } else {
      const auto& marks = std::get<decoder_metaspace>(step);
      bool drops = marks.drops_first && at == token_decoder::position::first;
      token = replaced(token, marks.mark, drops ? "" : " ");
    }
  }
  return token;
}

bool is_one_character(const decoder_step& step) {
  auto* replaces = std::get_if<decoder_replace>(&step);
  auto* literal =
    replaces ? std::get_if<std::string>(&replaces->pattern) : nullptr;
  return literal && first_utf8_piece(*literal).length == literal->size();
}

} // namespace

std::string replaced(std::string_view text, std::string_view from,
                     std::string_view to) {
  std::string out;
  size_t done = 0;
  for (auto at = text.find(from); at != std::string_view::npos;
       at = text.find(from, done)) {
    out += text.substr(done, at - done);
    out += to;
    done = at + from.size();
  }
  return out.append(text.substr(done));
}

result<token_decoder> token_decoder::from_json(const json& x) {
  auto list = components(x, "decoders");
  if (!list)
    return tl::unexpected(list.error());
  if (list->empty())
    return fail(ec::unsupported, "expected one or more components, found none");
  token_decoder out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    if (auto added = out.add(*type, *one); !added)
      return wrap(*type, added.error());
  }
  return out;
}

result<void> token_decoder::add(const std::string& type, const json& x) {
  if (type == "Fuse" || type == "ByteLevel") {
    if (joined_ && type == "ByteLevel")
      return unsupported_component("after Fuse or ByteLevel");
    if (byte_fallback_ && type == "ByteLevel")
      return unsupported_component("after ByteFallback");
    if (type == "ByteLevel")
      join_ = token_join::bytes;
    joined_ = true;
    return {};
  }
  if (type == "ByteFallback") {
    if (joined_ || byte_fallback_)
      return unsupported_component("after Fuse, ByteLevel or another one");
    byte_fallback_ = true;
    return {};
  }
  if (type != "Replace" && type != "Strip" && type != "Metaspace")
    return unsupported_component("decoder");
  auto step = type == "Replace" ? replace_of(x)
              : type == "Strip" ? strip_of(x)
                                : metaspace_of(x);
  if (!step)
    return tl::unexpected(step.error());
  return add_step(type, std::move(*step));
}

/// On the whole text only those steps work that need not see all of it.
result<void> token_decoder::add_step(const std::string& type, decoder_step x) {
  if (joined_ &&
      (type == "Metaspace" || (type == "Replace" && !is_one_character(x))))
    return unsupported_component(type == "Metaspace"
                                   ? "after Fuse or ByteLevel"
                                   : "of more than one character after Fuse or "
                                     "ByteLevel");
  (joined_ ? whole_ : byte_fallback_ ? late_ : each_).push_back(std::move(x));
  return {};
}

std::string token_decoder::each(std::string_view spelling, position at) const {
  auto token = run_all(each_, std::string{spelling}, at);
  return join_ == token_join::bytes ? from_byte_level(token) : token;
}

std::string token_decoder::late(std::string_view token, position at) const {
  return run_all(late_, std::string{token}, at);
}

int16_t token_decoder::fallback_byte(std::string_view token) const {
  if (!byte_fallback_ || token.size() != 6 || !token.starts_with("<0x") ||
      token.back() != '>')
    return -1;
  uint8_t byte = 0;
  auto digits = token.substr(3, 2);
  auto read =
    std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  return read.ptr == digits.data() + digits.size() ? byte : int16_t{-1};
}

} // namespace troupe
