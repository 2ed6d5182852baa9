// See text_encoder.hpp.
#include "runtime/model/text_encoder.hpp"

#include "runtime/model/utf8.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace troupe {

word_cache::word_cache(size_t text_bytes)
  : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 1, 32768))) {
  // nop
}

word_cache::entry& word_cache::slot_of(std::string_view word) {
  auto hash = std::hash<std::string_view>{}(word);
  return entries_[hash & (entries_.size() - 1)];
}

text_encoder::text_encoder(const tokenizer_tables& tables,
                           std::vector<token_id>& out, size_t text_bytes)
  : t_(tables), splitter_(tables.words), cache_(text_bytes), ids_(out) {
  ids_.reserve(ids_.size() + text_bytes / 4 + 16);
}

result<void> text_encoder::run(std::string_view text,
                               std::span<const text_stretch> stretches) {
  std::vector<text_section> sections;
  t_.added.in_raw_text().split({text, stretches, &t_.added.list()}, sections);
  for (const auto& x : sections) {
    auto at = static_cast<size_t>(x.text.data() - text.data());
    if (x.token)
      ids_.push_back(x.token->id);
    else if (auto done = raw_section(x.text, at, stretches); !done)
      return done;
  }
  return {};
}

/// Normalizing moves bytes, so where it comes before special tokens are looked
/// for, each stretch is done by itself; else the section is in one piece, as
/// words may reach from one stretch into the next.
result<void>
text_encoder::raw_section(std::string_view text, size_t at,
                          std::span<const text_stretch> stretches) {
  if (!t_.added.in_normalized_text().has_special())
    return raw_text(text, special_text::parse);
  for (const auto& x : stretches) {
    if (x.end <= at)
      continue;
    auto length = std::min(x.end - at, text.size());
    if (auto done = raw_text(text.substr(0, length), x.inside); !done)
      return done;
    at += length;
    text.remove_prefix(length);
    if (text.empty())
      break;
  }
  return {};
}

/// Text as it came.
result<void> text_encoder::raw_text(std::string_view text,
                                    special_text inside) {
  while (!text.empty()) {
    auto good = valid_utf8_length(text);
    if (good > 0)
      if (auto done = valid_text(text.substr(0, good), inside); !done)
        return done;
    text.remove_prefix(good);
    size_t bad = 0;
    while (bad < text.size()) {
      auto piece = first_utf8_piece(text.substr(bad));
      if (piece.kind == utf8_kind::valid)
        break;
      bad += piece.length;
    }
    if (bad > 0)
      if (auto done = word(text.substr(0, bad)); !done)
        return done;
    text.remove_prefix(bad);
  }
  return {};
}

result<void> text_encoder::valid_text(std::string_view text,
                                      special_text inside) {
  if (!t_.normal.keeps(text)) {
    auto normal = t_.normal.apply(text);
    if (!normal)
      return tl::unexpected(normal.error());
    text = normalized_.emplace_back(std::move(*normal));
  }
  std::vector<text_section> sections;
  text_stretch whole{text.size(), inside};
  t_.added.in_normalized_text().split({text, {&whole, 1}, &t_.added.list()},
                                      sections);
  for (const auto& x : sections) {
    if (x.token)
      ids_.push_back(x.token->id);
    else if (auto done = plain_text(x.text); !done)
      return done;
  }
  return {};
}

result<void> text_encoder::plain_text(std::string_view text) {
  auto words = splitter_.split(text);
  if (!words)
    return tl::unexpected(words.error());
  for (auto x : **words)
    if (auto done = word(x); !done)
      return done;
  return {};
}

result<void> text_encoder::word(std::string_view x) {
  if (x.size() > word_cache::word_bytes_max)
    return t_.model.encode(x, t_.vocab, scratch_, ids_);
  auto& known = cache_.slot_of(x);
  auto begin = ids_.size();
  if (known.word == x) {
    ids_.resize(begin + known.count);
    std::copy_n(ids_.begin() + static_cast<ptrdiff_t>(known.begin), known.count,
                ids_.begin() + static_cast<ptrdiff_t>(begin));
    return {};
  }
  auto done = t_.model.encode(x, t_.vocab, scratch_, ids_);
  if (done)
    known = {x, begin, ids_.size() - begin};
  return done;
}

} // namespace troupe
