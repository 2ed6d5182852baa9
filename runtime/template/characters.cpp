#include "runtime/template/characters.hpp"

#include <cstring>
#include <utf8proc.h>

namespace troupe::jinja {

namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text, size_t at) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
}

} // namespace

bool is_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t point = -1;
    auto length =
      utf8proc_iterate(bytes_of(text, at),
                       static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    if (length <= 0 || point < 0)
      return false;
    at += static_cast<size_t>(length);
  }
  return true;
}

size_t character_bytes(char lead) {
  auto x = static_cast<unsigned char>(lead);
  return x < 0xC0 ? 1 : x < 0xE0 ? 2 : x < 0xF0 ? 3 : 4;
}

char32_t character_at(std::string_view text, size_t at) {
  auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80)
    return lead;
  auto length = character_bytes(text[at]);
  auto point = static_cast<char32_t>(lead & (0xFFu >> (length + 1)));
  for (size_t i = 1; i < length && at + i < text.size(); ++i)
    point = (point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  return point;
}

void append_character(std::string& out, char32_t x) {
  utf8proc_uint8_t buffer[4] = {};
  auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(x), buffer);
  out.append(reinterpret_cast<const char*>(buffer),
             static_cast<size_t>(length));
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (char x : text)
    count += (static_cast<unsigned char>(x) & 0xC0) != 0x80 ? size_t{1} : 0;
  return count;
}

size_t offset_of_character(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index)
    at += character_bytes(text[at]);
  return at;
}

bool is_space(char32_t x) {
  if (x <= 0x20)
    return x == 0x20 || (x >= 0x09 && x <= 0x0D) || (x >= 0x1C && x <= 0x1F);
  if (x == 0x85 || x == 0xA0)
    return true;
  if (x < 0x1680)
    return false;
  auto category = utf8proc_category(static_cast<utf8proc_int32_t>(x));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_upper(char32_t x) {
  auto category = utf8proc_category(static_cast<utf8proc_int32_t>(x));
  return category == UTF8PROC_CATEGORY_LU;
}

bool is_lower(char32_t x) {
  auto category = utf8proc_category(static_cast<utf8proc_int32_t>(x));
  return category == UTF8PROC_CATEGORY_LL;
}

bool is_printable(char32_t x) {
  if (x < 0x7F)
    return x >= 0x20;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(x))) {
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_ZS:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  default:
    return true;
  }
}

char32_t to_upper(char32_t x) {
  return static_cast<char32_t>(
    utf8proc_toupper(static_cast<utf8proc_int32_t>(x)));
}

char32_t to_lower(char32_t x) {
  return static_cast<char32_t>(
    utf8proc_tolower(static_cast<utf8proc_int32_t>(x)));
}

size_t find_text(std::string_view text, std::string_view what, size_t at) {
  if (at > text.size())
    return std::string_view::npos;
  if (what.empty())
    return at;
  auto found =
    memmem(text.data() + at, text.size() - at, what.data(), what.size());
  if (!found)
    return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

} // namespace troupe::jinja
