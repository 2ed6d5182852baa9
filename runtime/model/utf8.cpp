// See utf8.hpp. The table of well-formed sequences is Unicode's table 3-7.
#include "runtime/model/utf8.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// What may follow a lead byte.
struct lead_rule {
  uint8_t length = 0; // of the whole character; 0: no lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

constexpr lead_rule rule_of(uint8_t lead) {
  if (lead < 0x80)
    return {1, 0, 0};
  if (lead >= 0xC2 && lead <= 0xDF)
    return {2, 0x80, 0xBF};
  if (lead == 0xE0)
    return {3, 0xA0, 0xBF};
  if (lead == 0xED)
    return {3, 0x80, 0x9F}; // no surrogates
  if (lead >= 0xE1 && lead <= 0xEF)
    return {3, 0x80, 0xBF};
  if (lead == 0xF0)
    return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3)
    return {4, 0x80, 0xBF};
  if (lead == 0xF4)
    return {4, 0x80, 0x8F}; // up to U+10FFFF
  return {};
}

} // namespace

utf8_piece first_utf8_piece(std::string_view text) {
  TROUPE_ASSERT(!text.empty());
  constexpr std::array<uint8_t, 5> lead_bits = {0, 0x7F, 0x1F, 0x0F, 0x07};
  auto lead = static_cast<uint8_t>(text[0]);
  auto rule = rule_of(lead);
  if (rule.length == 0)
    return {utf8_kind::invalid, 1, 0};
  auto point = static_cast<char32_t>(lead & lead_bits[rule.length]);
  for (uint8_t i = 1; i < rule.length; ++i) {
    if (i == text.size())
      return {utf8_kind::incomplete, i, 0};
    auto byte = static_cast<uint8_t>(text[i]);
    auto low = i == 1 ? rule.second_min : uint8_t{0x80};
    auto high = i == 1 ? rule.second_max : uint8_t{0xBF};
    if (byte < low || byte > high)
      return {utf8_kind::invalid, i, 0};
    point = (point << 6) | (byte & 0x3Fu);
  }
  return {utf8_kind::valid, rule.length, point};
}

utf8_piece last_utf8_piece(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(4, text.size());
       ++length) {
    auto piece = first_utf8_piece(text.substr(text.size() - length));
    if (piece.kind == utf8_kind::valid && piece.length == length)
      return piece;
  }
  return {};
}

size_t valid_utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    auto piece = first_utf8_piece(text.substr(at));
    if (piece.kind != utf8_kind::valid)
      break;
    at += piece.length;
  }
  return at;
}

void append_utf8(std::string& out, char32_t point) {
  auto put = [&](char32_t x) { out.push_back(static_cast<char>(x)); };
  auto tail = [&](int shift) { put(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    put(0xF0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void append_repaired(std::string& out, std::string_view text) {
  while (!text.empty()) {
    auto good = valid_utf8_length(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty())
      return;
    out.append(replacement_character);
    text.remove_prefix(first_utf8_piece(text).length);
  }
}

} // namespace troupe
