// See unicode.hpp.
#include "runtime/model/unicode.hpp"

#include "runtime/model/utf8.hpp"

#include <algorithm>
#include <cstdlib>
#include <utf8proc.h>

namespace troupe {

namespace {

/// Longest accepted run of combining marks. Real text has fewer than 30.
constexpr size_t combining_run_max = 1024;

bool has_long_combining_run(std::string_view text) {
  size_t run = 0;
  while (!text.empty()) {
    auto piece = first_utf8_piece(text);
    text.remove_prefix(piece.length);
    auto* properties =
      utf8proc_get_property(static_cast<utf8proc_int32_t>(piece.point));
    run = properties->combining_class == 0 ? 0 : run + 1;
    if (run > combining_run_max)
      return true;
  }
  return false;
}

utf8proc_option_t options_of(normal_form form) {
  int x = UTF8PROC_STABLE;
  bool composed = form == normal_form::nfc || form == normal_form::nfkc;
  x |= composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == normal_form::nfkc || form == normal_form::nfkd)
    x |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(x);
}

} // namespace

bool is_white_space(char32_t x) {
  return (x >= 0x09 && x <= 0x0D) || x == 0x20 || x == 0x85 || x == 0xA0 ||
         x == 0x1680 || (x >= 0x2000 && x <= 0x200A) || x == 0x2028 ||
         x == 0x2029 || x == 0x202F || x == 0x205F || x == 0x3000;
}

bool is_word_character(char32_t x) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(x))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    // Join_Control, and the circled and squared letters (Alphabetic, So).
    return x == 0x200C || x == 0x200D || (x >= 0x24B6 && x <= 0x24E9) ||
           (x >= 0x1F130 && x <= 0x1F149) || (x >= 0x1F150 && x <= 0x1F169) ||
           (x >= 0x1F170 && x <= 0x1F189);
  }
}

bool is_mark(char32_t x) {
  auto category = utf8proc_category(static_cast<utf8proc_int32_t>(x));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

void append_lowercase(char32_t point, std::string& out) {
  // Unicode's SpecialCasing has one character whose lower case is two.
  constexpr char32_t capital_i_with_dot = 0x130;
  if (point == capital_i_with_dot) {
    out += "i\xCC\x87";
    return;
  }
  append_utf8(out, static_cast<char32_t>(
                     utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
}

size_t white_space_at_begin(std::string_view text) {
  auto rest = text;
  while (!rest.empty()) {
    auto piece = first_utf8_piece(rest);
    if (!is_white_space(piece.point))
      break;
    rest.remove_prefix(piece.length);
  }
  return text.size() - rest.size();
}

size_t white_space_at_end(std::string_view text) {
  auto rest = text;
  while (!rest.empty()) {
    auto piece = last_utf8_piece(rest);
    if (!is_white_space(piece.point))
      break;
    rest.remove_suffix(piece.length);
  }
  return text.size() - rest.size();
}

bool is_surely_normal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

result<std::string> normalize(std::string_view text, normal_form form) {
  if (has_long_combining_run(text))
    return fail(ec::invalid_argument,
                "text: more than {} combining marks in a row; this is no text "
                "that can be normalized",
                combining_run_max);
  utf8proc_uint8_t* mapped = nullptr;
  auto length = utf8proc_map(
    reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
    static_cast<utf8proc_ssize_t>(text.size()), &mapped, options_of(form));
  if (length < 0)
    return fail(ec::internal, "text of {} bytes: cannot normalize: {}",
                text.size(), utf8proc_errmsg(length));
  std::string out(reinterpret_cast<const char*>(mapped),
                  static_cast<size_t>(length));
  std::free(mapped);
  return out;
}

} // namespace troupe
