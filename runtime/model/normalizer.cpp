// See normalizer.hpp.
#include "runtime/model/normalizer.hpp"

#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/utf8.hpp"

#include <algorithm>

namespace troupe {

using nlohmann::json;

namespace {

constexpr size_t content_bytes_max = 1024;

result<std::string> content_member(const json& x, const char* key) {
  auto text = text_member(x, key);
  if (text && text->size() > content_bytes_max)
    return fail(ec::bad_format, "{}: has {} bytes, at most {} are accepted",
                key, text->size(), content_bytes_max);
  return text;
}

result<normalizer_step> replace_of(const json& x) {
  auto pattern = pattern_member(x);
  if (!pattern)
    return tl::unexpected(pattern.error());
  auto content = content_member(x, "content");
  if (!content)
    return tl::unexpected(content.error());
  return replace_step{std::move(*pattern), std::move(*content)};
}

result<normalizer_step> strip_of(const json& x) {
  auto left = flag_member(x, "strip_left", true);
  auto right = flag_member(x, "strip_right", true);
  for (auto* flag : {&left, &right})
    if (!*flag)
      return tl::unexpected(flag->error());
  return strip_step{*left, *right};
}

result<normalizer_step> step_of(const std::string& type, const json& x) {
  if (type == "NFC")
    return normal_form::nfc;
  if (type == "NFD")
    return normal_form::nfd;
  if (type == "NFKC")
    return normal_form::nfkc;
  if (type == "NFKD")
    return normal_form::nfkd;
  if (type == "Lowercase")
    return lowercase_step{};
  if (type == "StripAccents")
    return strip_accents_step{};
  if (type == "Nmt")
    return nmt_step{};
  if (type == "Strip")
    return strip_of(x);
  if (type == "Replace")
    return replace_of(x);
  if (type != "Prepend")
    return unsupported_component("normalizer");
  auto text = content_member(x, "prepend");
  if (!text)
    return tl::unexpected(text.error());
  return prepend_step{std::move(*text)};
}

std::string stripped(std::string_view text, const strip_step& x) {
  if (x.left)
    text.remove_prefix(white_space_at_begin(text));
  if (x.right)
    text.remove_suffix(white_space_at_end(text));
  return std::string{text};
}

/// Rewrites each character; `map` appends what becomes of it.
template <class Map>
std::string mapped(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto piece = first_utf8_piece(text);
    map(piece.point, out);
    text.remove_prefix(piece.length);
  }
  return out;
}

void append_unless_mark(char32_t point, std::string& out) {
  if (!is_mark(point))
    append_utf8(out, point);
}

/// As SentencePiece's rule set of the name nmt_nfkc.
void append_nmt(char32_t x, std::string& out) {
  bool is_control = (x >= 0x01 && x <= 0x08) || x == 0x0B ||
                    (x >= 0x0E && x <= 0x1F) || x == 0x7F || x == 0x8F ||
                    x == 0x9F;
  if (is_control)
    return;
  bool is_space = x == 0x09 || x == 0x0A || x == 0x0C || x == 0x0D ||
                  x == 0x1680 || (x >= 0x200B && x <= 0x200F) || x == 0x2028 ||
                  x == 0x2029 || x == 0x2581 || x == 0xFEFF || x == 0xFFFD;
  append_utf8(out, is_space ? U' ' : x);
}

tl::unexpected<error> too_long() {
  return fail(ec::invalid_argument,
              "text: grows to more than {} bytes when it is normalized",
              text_normalizer::bytes_max);
}

} // namespace

// -- normalizer ---------------------------------------------------------------

result<normalizer> normalizer::from_json(const json& x) {
  auto list = components(x, "normalizers");
  if (!list)
    return tl::unexpected(list.error());
  normalizer out;
  for (const auto* one : *list) {
    auto type = component_type(*one);
    if (!type)
      return tl::unexpected(type.error());
    auto step = step_of(*type, *one);
    if (!step)
      return wrap(*type, step.error());
    out.only_forms_ =
      out.only_forms_ && std::holds_alternative<normal_form>(*step);
    out.steps_.push_back(std::move(*step));
  }
  return out;
}

// -- text_normalizer ----------------------------------------------------------

text_normalizer::text_normalizer(const normalizer& steps) : rules_(&steps) {
  for (const auto& x : steps.steps()) {
    scanners_.emplace_back();
    if (auto* replaces = std::get_if<replace_step>(&x))
      if (auto* pattern = std::get_if<regex>(&replaces->pattern))
        scanners_.back().emplace(*pattern);
  }
}

result<std::string_view> text_normalizer::apply(std::string_view text,
                                                text_place place) {
  const auto& steps = rules_->steps();
  if (steps.empty() || (rules_->only_forms_ && is_surely_normal(text)))
    return text;
  std::string out{text};
  for (size_t i = 0; i < steps.size(); ++i) {
    auto next = step(i, std::move(out), place);
    if (!next)
      return tl::unexpected(next.error());
    out = std::move(*next);
  }
  return texts_.emplace_back(std::move(out));
}

result<std::string> text_normalizer::step(size_t i, std::string text,
                                          text_place place) {
  const auto& x = rules_->steps()[i];
  if (auto* form = std::get_if<normal_form>(&x))
    return is_surely_normal(text) ? std::move(text) : normalize(text, *form);
  if (auto* replaces = std::get_if<replace_step>(&x))
    return replace(i, *replaces, text);
  if (auto* strips = std::get_if<strip_step>(&x))
    return stripped(text, *strips);
  if (auto* prepends = std::get_if<prepend_step>(&x)) {
    bool applies = place != text_place::later && !text.empty();
    return applies ? prepends->text + text : std::move(text);
  }
  if (std::holds_alternative<lowercase_step>(x))
    return mapped(text, append_lowercase);
  if (std::holds_alternative<strip_accents_step>(x))
    return mapped(text, append_unless_mark);
  return mapped(text, append_nmt);
}

result<std::string> text_normalizer::replace(size_t i, const replace_step& x,
                                             const std::string& text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  size_t done = 0;
  auto put = [&](text_range match) {
    out.append(text, done, match.begin - done);
    out += x.content;
    done = match.end;
    return out.size() <= bytes_max;
  };
  if (auto* literal = std::get_if<std::string>(&x.pattern)) {
    for (auto at = text.find(*literal); at != std::string::npos;
         at = text.find(*literal, at + literal->size()))
      if (!put({at, at + literal->size()}))
        return too_long();
  } else {
    match_walk matches{*scanners_[i], text};
    while (true) {
      auto match = matches.next();
      if (!match)
        return tl::unexpected(match.error());
      if (!*match)
        break;
      if (!put(**match))
        return too_long();
    }
  }
  return out.append(text, done);
}

} // namespace troupe
