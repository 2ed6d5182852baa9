#include "runtime/template/literal.hpp"

#include "runtime/template/characters.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace troupe::jinja {

namespace {

bool is_digit_of(int base, char x) {
  auto c = static_cast<unsigned char>(x);
  if (base == 16)
    return std::isxdigit(c) != 0;
  return x >= '0' && x < '0' + base;
}

/// How many bytes from `at` on are digits, with single "_" between them.
size_t digits_end(std::string_view text, size_t at, int base) {
  while (at < text.size() && (is_digit_of(base, text[at]) ||
                              (text[at] == '_' && at + 1 < text.size() &&
                               is_digit_of(base, text[at + 1]))))
    ++at;
  return at;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char x : text)
    if (x != '_')
      out.push_back(x);
  return out;
}

/// Where the fraction and exponent after the digits [0, whole) end.
size_t float_end(std::string_view text, size_t whole) {
  auto has_digit = [&](size_t i) {
    return i < text.size() && is_digit_of(10, text[i]);
  };
  auto end = whole;
  if (end < text.size() && text[end] == '.' && has_digit(end + 1))
    end = digits_end(text, end + 1, 10);
  if (end >= text.size() || (text[end] != 'e' && text[end] != 'E'))
    return end;
  auto sign =
    end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-')
      ? size_t{1}
      : size_t{0};
  return has_digit(end + 1 + sign) ? digits_end(text, end + 1 + sign, 10) : end;
}

int base_of(std::string_view text) {
  if (text.size() < 3 || text[0] != '0')
    return 10;
  switch (text[1]) {
  case 'x':
  case 'X':
    return 16;
  case 'o':
  case 'O':
    return 8;
  case 'b':
  case 'B':
    return 2;
  default:
    return 10;
  }
}

} // namespace

result<number_literal> read_number(std::string_view text, bool is_after_dot) {
  number_literal out;
  auto base = base_of(text);
  auto begin = base == 10 ? size_t{0} : size_t{2};
  out.length = digits_end(text, begin, base);
  if (base == 10 && !is_after_dot) {
    auto end = float_end(text, out.length);
    out.is_float = end > out.length;
    out.length = end;
  }
  auto digits = without_underscores(text.substr(begin, out.length - begin));
  if (base == 10 && !out.is_float && digits[0] == '0' &&
      digits.find_first_not_of('0') != std::string::npos)
    return fail(ec::bad_format, "{}: a number cannot begin with 0",
                text.substr(0, out.length));
  auto last = digits.data() + digits.size();
  auto read = out.is_float
                ? std::from_chars(digits.data(), last, out.floating)
                : std::from_chars(digits.data(), last, out.integer, base);
  if (read.ptr == last && read.ec == std::errc{})
    return out;
  if (out.is_float && read.ec == std::errc::result_out_of_range) {
    out.floating = std::strtod(digits.c_str(), nullptr); // 0 or infinite
    return out;
  }
  return fail(ec::bad_format, "{}: expected a number below 2^63",
              text.substr(0, std::min<size_t>(out.length, 40)));
}

namespace {

/// Reads `count` hexadecimal digits from `at` on.
result<char32_t> read_code(std::string_view text, size_t at, size_t count) {
  uint32_t point = 0;
  auto digits = text.substr(std::min(at, text.size()), count);
  auto last = digits.data() + digits.size();
  auto read = std::from_chars(digits.data(), last, point, 16);
  if (digits.size() != count || read.ptr != last || read.ec != std::errc{})
    return fail(ec::bad_format, "an escape of a string: expected {} hex digits",
                count);
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
    return fail(ec::bad_format, "an escape of a string: U+{:X} is no character",
                point);
  return static_cast<char32_t>(point);
}

/// Octal digits from `at` on, at most three.
size_t octal_end(std::string_view text, size_t at) {
  auto end = at;
  while (end < text.size() && end < at + 3 && is_digit_of(8, text[end]))
    ++end;
  return end;
}

} // namespace

result<std::string> unescape(std::string_view text) {
  static constexpr std::string_view letters = "\\'\"abfnrtv";
  static constexpr std::string_view meant = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    auto kind = text[++i];
    if (auto found = letters.find(kind); found != std::string_view::npos) {
      out.push_back(meant[found]);
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      auto count = kind == 'x'   ? size_t{2}
                   : kind == 'u' ? size_t{4}
                                 : size_t{8};
      auto point = read_code(text, i + 1, count);
      if (!point)
        return tl::unexpected(std::move(point.error()));
      append_character(out, *point);
      i += count;
    } else if (auto end = octal_end(text, i); end > i) {
      uint32_t point = 0;
      std::from_chars(text.data() + i, text.data() + end, point, 8);
      append_character(out, point);
      i = end - 1;
    } else if (kind != '\n') { // a line may go on after "\"
      out.push_back('\\');
      out.push_back(kind);
    }
  }
  return out;
}

} // namespace troupe::jinja
