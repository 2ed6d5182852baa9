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
  : t_(tables), normalizer_(tables.normal), splitter_(tables.words),
    cache_(text_bytes), ids_(out) {
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
  auto place = at == 0 ? text_place::text_start : text_place::section_start;
  if (!t_.added.in_normalized_text().has_special())
    return raw_text({text, place, special_text::parse});
  for (const auto& x : stretches) {
    if (x.end <= at)
      continue;
    auto length = std::min(x.end - at, text.size());
    auto done = raw_text({text.substr(0, length), place, x.inside});
    if (!done)
      return done;
    place = text_place::section_start;
    at += length;
    text.remove_prefix(length);
    if (text.empty())
      break;
  }
  return {};
}

/// Text as it came.
result<void> text_encoder::raw_text(section x) {
  while (!x.text.empty()) {
    auto good = valid_utf8_length(x.text);
    if (good > 0)
      if (auto done = valid_text({x.text.substr(0, good), x.place, x.inside});
          !done)
        return done;
    x.place = text_place::later;
    x.text.remove_prefix(good);
    size_t bad = 0;
    while (bad < x.text.size()) {
      auto piece = first_utf8_piece(x.text.substr(bad));
      if (piece.kind == utf8_kind::valid)
        break;
      bad += piece.length;
    }
    if (bad > 0)
      if (auto done = word(x.text.substr(0, bad)); !done)
        return done;
    x.text.remove_prefix(bad);
  }
  return {};
}

result<void> text_encoder::valid_text(const section& x) {
  auto normal = normalizer_.apply(x.text, x.place);
  if (!normal)
    return tl::unexpected(normal.error());
  std::vector<text_section> sections;
  text_stretch whole{normal->size(), x.inside};
  t_.added.in_normalized_text().split({*normal, {&whole, 1}, &t_.added.list()},
                                      sections);
  for (const auto& part : sections) {
    bool is_first = part.text.data() == normal->data();
    if (part.token)
      ids_.push_back(part.token->id);
    else if (auto done = plain_text(
               part.text, is_first ? x.place : text_place::section_start);
             !done)
      return done;
  }
  return {};
}

result<void> text_encoder::plain_text(std::string_view text, text_place place) {
  auto words = splitter_.split(text, place);
  if (!words)
    return tl::unexpected(words.error());
  for (auto x : **words)
    if (auto done = word(x); !done)
      return done;
  return {};
}

result<void> text_encoder::word(std::string_view x) {
  if (x.size() > word_bytes_max)
    return fail(ec::invalid_argument,
                "text: has a word of {} bytes, expected at most {}; put white "
                "space into it",
                x.size(), word_bytes_max);
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
