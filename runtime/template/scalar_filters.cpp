// Filters over single values and numbers.
#include "runtime/template/builtins.hpp"
#include "runtime/template/operators.hpp"
#include "runtime/template/text_operations.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

result<value> filter_default(call& x) {
  auto args = bind(x, {"default_value", "boolean"});
  if (!args)
    return pass(args);
  auto is_missing = x.self.is<undefined>() || (args->flag(1) && !truth(x.self));
  return is_missing ? args->or_default(0, value::text("")) : x.self;
}

/// What Python's int() and float() read: blanks around, a sign, "_" between.
std::string number_word(const marked_text& x) {
  auto word = strip(x, std::nullopt, text_end::both);
  std::string out;
  for (char c : word.bytes())
    if (c != '_')
      out.push_back(c);
  if (out.starts_with('+'))
    out.erase(0, 1);
  return out;
}

std::optional<double> read_float(const std::string& word) {
  double x = 0;
  auto last = word.data() + word.size();
  auto read = std::from_chars(word.data(), last, x);
  if (word.empty() || read.ptr != last ||
      read.ec == std::errc::invalid_argument)
    return std::nullopt;
  return x;
}

std::optional<int64_t> read_integer(std::string word, int64_t base) {
  if (base < 2 || base > 36)
    return std::nullopt;
  auto prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (*prefix && word.starts_with(prefix))
    word.erase(0, 2);
  int64_t x = 0;
  auto last = word.data() + word.size();
  auto read = std::from_chars(word.data(), last, x, static_cast<int>(base));
  if (word.empty() || read.ptr != last || read.ec != std::errc{})
    return std::nullopt;
  return x;
}

/// Towards zero; nothing beyond 64 bits.
std::optional<int64_t> whole_part(double x) {
  if (!(std::abs(x) < 9.2e18))
    return std::nullopt;
  return static_cast<int64_t>(x);
}

tl::unexpected<error> undefined_operand(const value& x) {
  auto& why = x.as<undefined>().why;
  return fail(ec::invalid_argument, "{}", why ? *why : "an undefined value");
}

result<value> filter_int(call& x) {
  auto args = bind(x, {"default", "base"});
  if (!args)
    return pass(args);
  if (x.self.is<undefined>())
    return undefined_operand(x.self);
  auto base = need_integer(args->or_default(1, value{int64_t{10}}), "base");
  if (!base)
    return pass(base);
  auto out = integer_of(x.self);
  if (x.self.is<double>())
    out = whole_part(x.self.as<double>());
  if (x.self.is_text()) {
    auto word = number_word(x.self.text());
    out = read_integer(word, *base);
    if (!out) // "42.7" counts too
      if (auto number = read_float(word))
        out = whole_part(*number);
  }
  return out ? value{*out} : args->or_default(0, value{int64_t{0}});
}

result<value> filter_float(call& x) {
  auto args = bind(x, {"default"});
  if (!args)
    return pass(args);
  if (x.self.is<undefined>())
    return undefined_operand(x.self);
  auto out = number_of(x.self);
  if (x.self.is_text())
    out = read_float(number_word(x.self.text()));
  return out ? value{*out} : args->or_default(0, value{0.0});
}

result<value> filter_abs(call& x) {
  auto number = number_of(x.self);
  if (!number)
    return fail(ec::invalid_argument, "expected a number, found {}",
                type_name(x.self));
  if (x.self.is<double>())
    return value{std::abs(*number)};
  auto whole = *integer_of(x.self);
  return whole < 0 ? negate(x.self) : value{whole};
}

/// Half to even, as Python's round() does it: on the decimal digits of `x`.
double round_common(double x, int64_t digits) {
  if (digits < 0) {
    auto scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(x / scale) * scale;
  }
  auto text = fmt::format("{:.{}f}", x, digits);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

result<value> filter_round(call& x) {
  auto args = bind(x, {"precision", "method"});
  if (!args)
    return pass(args);
  auto number = number_of(x.self);
  if (!number)
    return fail(ec::invalid_argument, "expected a number, found {}",
                type_name(x.self));
  auto given =
    need_integer(args->or_default(0, value{int64_t{0}}), "precision");
  if (!given)
    return pass(given);
  auto digits = std::clamp<int64_t>(*given, -300, 300);
  auto method = need_text(args->or_default(1, value::text("common")), "method");
  if (!method)
    return pass(method);
  auto name = (*method)->bytes();
  if (!std::isfinite(*number))
    return value{*number};
  if (name == "common" && integer_of(x.self) && digits >= 0)
    return x.self.is<bool>() ? value{*integer_of(x.self)} : x.self;
  if (name == "common")
    return value{round_common(*number, digits)};
  auto scale = std::pow(10.0, static_cast<double>(digits));
  if (name == "ceil")
    return value{std::ceil(*number * scale) / scale};
  if (name == "floor")
    return value{std::floor(*number * scale) / scale};
  return fail(ec::invalid_argument,
              "method: expected common, ceil or floor, found \"{}\"",
              name.substr(0, 40));
}

} // namespace

std::span<const named_native> scalar_filters() {
  static constexpr named_native table[] = {
    {"default", filter_default}, {"d", filter_default}, {"int", filter_int},
    {"float", filter_float},     {"abs", filter_abs},   {"round", filter_round},
  };
  return table;
}

} // namespace troupe::jinja
