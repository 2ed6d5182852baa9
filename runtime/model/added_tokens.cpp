// See added_tokens.hpp. The patterns form a trie; they are short (1 KiB at
// most), so a walk from each place is bounded.
#include "runtime/model/added_tokens.hpp"

#include "runtime/model/tokenizer_json.hpp"
#include "runtime/model/unicode.hpp"
#include "runtime/model/utf8.hpp"

#include <algorithm>

namespace troupe {

using nlohmann::json;

namespace {

constexpr size_t added_tokens_max = 65536;

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(last_utf8_piece(text).point);
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word_character(first_utf8_piece(text).point);
}

result<added_token> read_token(const json& x) {
  added_token out;
  auto content = text_member(x, "content");
  if (!content)
    return tl::unexpected(content.error());
  if (content->empty() ||
      content->size() > added_token_matcher::content_bytes_max)
    return fail(ec::bad_format, "content: has {} bytes, expected 1 to {}",
                content->size(), added_token_matcher::content_bytes_max);
  out.content = std::move(*content);
  auto id = to_token_id(member_of(x, "id"));
  if (!id)
    return wrap("id", id.error());
  out.id = *id;
  auto special = flag_member(x, "special", false);
  if (!special)
    return tl::unexpected(special.error());
  out.special = *special;
  struct field {
    const char* key;
    bool* value;
    bool fallback;
  };
  for (auto f : {field{"single_word", &out.single_word, false},
                 field{"lstrip", &out.lstrip, false},
                 field{"rstrip", &out.rstrip, false},
                 field{"normalized", &out.normalized, !out.special}}) {
    auto flag = flag_member(x, f.key, f.fallback);
    if (!flag)
      return tl::unexpected(flag.error());
    *f.value = *flag;
  }
  return out;
}

} // namespace

// -- added_token_matcher ------------------------------------------------------

void added_token_matcher::add(std::string_view pattern, size_t index,
                              const added_token& token) {
  if (pattern.empty())
    return;
  uint32_t at = 0;
  for (char c : pattern) {
    auto [i, is_new] =
      nodes_[at].next.emplace(c, static_cast<uint32_t>(nodes_.size()));
    at = i->second;
    if (is_new)
      nodes_.emplace_back();
  }
  nodes_[at].token = static_cast<int32_t>(index);
  starts_[static_cast<uint8_t>(pattern[0])] = true;
  has_special_ = has_special_ || token.special;
}

/// A special token that reaches over the end of its stretch is none: else
/// what a person writes could complete, or hide, one of the template's.
added_token_matcher::match
added_token_matcher::longest_at(const request& x, size_t at,
                                size_t stretch_end) const {
  match best;
  uint32_t state = 0;
  for (size_t i = at; i < x.text.size(); ++i) {
    auto next = nodes_[state].next.find(x.text[i]);
    if (next == nodes_[state].next.end())
      break;
    state = next->second;
    auto token = nodes_[state].token;
    if (token >= 0 &&
        (i < stretch_end || !(*x.tokens)[static_cast<size_t>(token)].special))
      best = {i + 1 - at, token};
  }
  return best;
}

void added_token_matcher::split(const request& x,
                                std::vector<text_section>& out) const {
  auto text = x.text;
  size_t done = 0;
  size_t at = 0;
  size_t stretch = 0;
  while (at < text.size()) {
    if (!starts_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    while (x.stretches[stretch].end <= at)
      ++stretch;
    auto found = longest_at(x, at, x.stretches[stretch].end);
    if (found.length == 0) {
      ++at;
      continue;
    }
    const auto& token = (*x.tokens)[static_cast<size_t>(found.token)];
    auto begin = at;
    auto end = at + found.length;
    at = end;
    if (token.special && x.stretches[stretch].inside == special_text::as_text)
      continue;
    if (token.single_word && (ends_with_word(text.substr(0, begin)) ||
                              begins_with_word(text.substr(end))))
      continue;
    if (token.lstrip)
      begin -= white_space_at_end(text.substr(done, begin - done));
    if (token.rstrip)
      end += white_space_at_begin(text.substr(end));
    if (done < begin)
      out.push_back({nullptr, text.substr(done, begin - done)});
    out.push_back({&token, text.substr(begin, end - begin)});
    done = end;
    at = end;
  }
  if (done < text.size())
    out.push_back({nullptr, text.substr(done)});
}

// -- added_tokens -------------------------------------------------------------

result<added_tokens> added_tokens::from_json(const json& x,
                                             const normalizer& normal,
                                             vocabulary& vocab) {
  added_tokens out;
  text_normalizer to_normal{normal};
  if (x.is_null())
    return out;
  if (!x.is_array() || x.size() > added_tokens_max)
    return fail(ec::bad_format, "expected a list of at most {} tokens",
                added_tokens_max);
  for (const auto& one : x) {
    auto index = out.list_.size();
    auto token = read_token(one);
    if (!token)
      return wrap(fmt::format("[{}]", index), token.error());
    if (auto added = vocab.add(token->content, token->id); !added)
      return wrap(fmt::format("[{}]", index), added.error());
    if (token->normalized) {
      auto pattern = to_normal.apply(token->content, text_place::text_start);
      if (!pattern)
        return wrap(fmt::format("[{}]", index), pattern.error());
      out.normalized_.add(*pattern, index, *token);
    } else {
      out.raw_.add(token->content, index, *token);
    }
    out.list_.push_back(std::move(*token));
  }
  return out;
}

} // namespace troupe
