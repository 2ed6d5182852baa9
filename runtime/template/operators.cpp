#include "runtime/template/operators.hpp"

#include "runtime/template/characters.hpp"
#include "runtime/template/text_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::jinja {

namespace {

std::string_view symbol(operation x) {
  static constexpr std::string_view symbols[] = {
    "+",  "-", "*",  "/", "//", "%",  "**",    "==",
    "!=", "<", "<=", ">", ">=", "in", "not in"};
  return symbols[static_cast<size_t>(x)];
}

tl::unexpected<error> not_for(operation what, const value& a, const value& b) {
  return fail(ec::invalid_argument, "\"{}\" does not work on {} and {}",
              symbol(what), type_name(a), type_name(b));
}

tl::unexpected<error> too_large() {
  return fail(ec::invalid_argument, "a whole number beyond 64 bits");
}

/// Rounded towards minus infinity, as in Python. @pre b is neither 0 nor -1
int64_t floor_quotient(int64_t a, int64_t b) {
  auto quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// With the sign of `b`. @pre as above
int64_t floor_remainder(int64_t a, int64_t b) {
  auto x = a % b;
  return x != 0 && (x < 0) != (b < 0) ? x + b : x;
}

double floor_remainder(double a, double b) {
  auto x = std::fmod(a, b);
  return x != 0 && (x < 0) != (b < 0) ? x + b : x;
}

result<value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return value{
      std::pow(static_cast<double>(base), static_cast<double>(exponent))};
  int64_t out = 1;
  // From the 64th step on only 0, 1 and -1 still fit.
  if (base >= -1 && base <= 1)
    exponent = exponent > 1 ? 2 - exponent % 2 : exponent;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(out, base, &out))
      return too_large();
  return value{out};
}

result<value> compute_integers(operation what, int64_t a, int64_t b) {
  int64_t out = 0;
  auto is_over = false;
  switch (what) {
  case operation::add:
    is_over = __builtin_add_overflow(a, b, &out);
    break;
  case operation::subtract:
    is_over = __builtin_sub_overflow(a, b, &out);
    break;
  case operation::multiply:
    is_over = __builtin_mul_overflow(a, b, &out);
    break;
  case operation::power:
    return integer_power(a, b);
  default:
    if (b == 0)
      return fail(ec::invalid_argument, "division by zero");
    if (what == operation::divide)
      return value{static_cast<double>(a) / static_cast<double>(b)};
    if (b == -1) // the lowest number has no opposite
      is_over = what == operation::floor_divide &&
                __builtin_sub_overflow(int64_t{0}, a, &out);
    else if (what == operation::floor_divide)
      out = floor_quotient(a, b);
    else
      out = floor_remainder(a, b);
  }
  if (is_over)
    return too_large();
  return value{out};
}

result<value> compute_floats(operation what, double a, double b) {
  switch (what) {
  case operation::add:
    return value{a + b};
  case operation::subtract:
    return value{a - b};
  case operation::multiply:
    return value{a * b};
  case operation::power:
    return value{std::pow(a, b)};
  default:
    if (b == 0)
      return fail(ec::invalid_argument, "division by zero");
    if (what == operation::divide)
      return value{a / b};
    auto remainder = floor_remainder(a, b);
    return value{what == operation::modulo ? remainder
                                           : std::round((a - remainder) / b)};
  }
}

/// A list, tuple or string `count` times.
result<value> repeat(const value& x, int64_t count, budget& spent) {
  auto times = static_cast<size_t>(
    std::clamp<int64_t>(count, 0, std::numeric_limits<int32_t>::max()));
  if (x.is_text()) {
    text_builder out{spent};
    if (spent.may_make_text(x.text().size() * times) && !x.text().empty())
      for (size_t i = 0; i < times; ++i)
        out.append(x.text());
    return out.to_value();
  }
  auto& from = *x.as<sequence_ptr>();
  std::vector<value> items;
  if (spent.may_make_items(from.items.size() * times) && !from.items.empty())
    for (size_t i = 0; i < times; ++i)
      items.insert(items.end(), from.items.begin(), from.items.end());
  return make_sequence(spent, std::move(items), from.form);
}

bool is_repeatable(const value& x) {
  return x.is_text() || (x.is<sequence_ptr>() &&
                         x.as<sequence_ptr>()->form != sequence_form::iterator);
}

result<value> add_others(const value& a, const value& b, budget& spent) {
  if (a.is_text() && b.is_text()) {
    text_builder out{spent};
    out.append(a.text());
    out.append(b.text());
    return out.to_value();
  }
  auto are_alike = a.is<sequence_ptr>() && b.is<sequence_ptr>() &&
                   is_repeatable(a) &&
                   a.as<sequence_ptr>()->form == b.as<sequence_ptr>()->form;
  if (!are_alike)
    return not_for(operation::add, a, b);
  auto items = a.as<sequence_ptr>()->items;
  auto& more = b.as<sequence_ptr>()->items;
  items.insert(items.end(), more.begin(), more.end());
  return make_sequence(spent, std::move(items), a.as<sequence_ptr>()->form);
}

/// "in \"x\": ..." for what was looked up and not found.
tl::unexpected<error> of_undefined(const value& x) {
  auto& why = x.as<undefined>().why;
  return fail(ec::invalid_argument, "{}", why ? *why : "an undefined value");
}

} // namespace

result<value> compute(operation what, const value& a, const value& b,
                      budget& spent) {
  if (auto x = integer_of(a), y = integer_of(b); x && y)
    return compute_integers(what, *x, *y);
  if (auto x = number_of(a), y = number_of(b); x && y)
    return compute_floats(what, *x, *y);
  if (what == operation::modulo && a.is_text())
    return format_percent(a.text(), b, spent);
  if (a.is<undefined>())
    return of_undefined(a);
  if (b.is<undefined>())
    return of_undefined(b);
  if (what == operation::add)
    return add_others(a, b, spent);
  if (what == operation::multiply && is_repeatable(a) && integer_of(b))
    return repeat(a, *integer_of(b), spent);
  if (what == operation::multiply && is_repeatable(b) && integer_of(a))
    return repeat(b, *integer_of(a), spent);
  return not_for(what, a, b);
}

result<bool> contains(const value& b, const value& a, budget& spent) {
  if (b.is_text()) {
    if (!a.is_text())
      return not_for(operation::contained, a, b);
    spent.touch(b.text().size());
    return find_text(b.text().bytes(), a.text().bytes()) !=
           std::string_view::npos;
  }
  if (b.is<dictionary_ptr>()) {
    touch_key(spent, a);
    if (!hash_key(a))
      return fail(ec::invalid_argument, "{} cannot be a key", type_name(a));
    return b.as<dictionary_ptr>()->find(a) != nullptr;
  }
  if (b.is<undefined>())
    return false;
  if (!b.is<sequence_ptr>())
    return not_for(operation::contained, a, b);
  auto& items = b.as<sequence_ptr>()->items;
  return std::any_of(items.begin(), items.end(), [&](auto& x) {
    return !spent.failed() && equal(x, a, spent);
  });
}

result<bool> holds(operation what, const value& a, const value& b,
                   budget& spent) {
  if (what == operation::equal)
    return equal(a, b, spent);
  if (what == operation::not_equal)
    return !equal(a, b, spent);
  if (what == operation::contained || what == operation::not_contained) {
    auto is_in = contains(b, a, spent);
    return is_in && what == operation::not_contained ? !*is_in : is_in;
  }
  if (a.is<undefined>())
    return of_undefined(a);
  if (b.is<undefined>())
    return of_undefined(b);
  auto order = compare(a, b, spent);
  if (!order)
    return not_for(what, a, b);
  auto is_nan = [](auto& x) {
    return x.template is<double>() && std::isnan(x.template as<double>());
  };
  if (is_nan(a) || is_nan(b))
    return false;
  return what == operation::less         ? *order < 0
         : what == operation::less_equal ? *order <= 0
         : what == operation::greater    ? *order > 0
                                         : *order >= 0;
}

result<value> negate(const value& x) {
  if (auto whole = integer_of(x))
    return compute_integers(operation::subtract, 0, *whole);
  if (x.is<double>())
    return value{-x.as<double>()};
  if (x.is<undefined>())
    return of_undefined(x);
  return fail(ec::invalid_argument, "\"-\" does not work on {}", type_name(x));
}

namespace {

/// Python's `slice.indices`.
struct slice_range {
  int64_t first, last, step;
};

result<int64_t> bound_or(const value& x, int64_t otherwise) {
  if (x.is<none>())
    return otherwise;
  return need_integer(x, "a slice");
}

result<slice_range> range_of(const slice_bounds& bounds, int64_t size) {
  auto step = bound_or(bounds.step, 1);
  if (!step)
    return tl::unexpected(std::move(step.error()));
  if (*step == 0)
    return fail(ec::invalid_argument, "the step of a slice cannot be 0");
  auto lowest = *step > 0 ? int64_t{0} : int64_t{-1};
  auto highest = *step > 0 ? size : size - 1;
  auto first = bound_or(bounds.first, *step > 0 ? lowest : highest);
  auto last = bound_or(bounds.last, *step > 0 ? highest : lowest);
  if (!first || !last)
    return tl::unexpected(std::move(first ? last.error() : first.error()));
  auto place = [&](const value& given, int64_t x) {
    if (given.is<none>())
      return x;
    // Any bound beyond the ends means the end.
    return std::clamp(x < 0 ? x + size : x, lowest, highest);
  };
  return slice_range{place(bounds.first, *first), place(bounds.last, *last),
                     *step};
}

/// The indices that `x` takes, in its order.
std::vector<size_t> indices_of(const slice_range& x) {
  std::vector<size_t> out;
  auto i = x.first;
  while (x.step > 0 ? i < x.last : i > x.last) {
    out.push_back(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, x.step, &i))
      break;
  }
  return out;
}

value slice_text(const marked_text& x, const slice_range& range,
                 budget& spent) {
  text_builder out{spent};
  if (range.step == 1) {
    auto at = [&](int64_t i) {
      return offset_of_character(x.bytes(), static_cast<size_t>(i));
    };
    auto first = at(range.first);
    auto last = at(std::max(range.first, range.last));
    out.append(x, first, last - first);
    return out.to_value();
  }
  std::vector<size_t> offsets;
  for (size_t at = 0; at < x.size(); at += character_bytes(x.bytes()[at]))
    offsets.push_back(at);
  for (auto i : indices_of(range))
    out.append(x, offsets[i], character_bytes(x.bytes()[offsets[i]]));
  return out.to_value();
}

} // namespace

result<value> slice(const value& x, const slice_bounds& bounds, budget& spent) {
  if (x.is<undefined>())
    return of_undefined(x);
  if (!is_repeatable(x))
    return fail(ec::invalid_argument,
                "expected a string or list to take a part of, found {}",
                type_name(x));
  auto size = x.is_text() ? count_characters(x.text().bytes())
                          : x.as<sequence_ptr>()->items.size();
  spent.touch(size);
  auto range = range_of(bounds, static_cast<int64_t>(size));
  if (!range)
    return tl::unexpected(std::move(range.error()));
  if (x.is_text())
    return slice_text(x.text(), *range, spent);
  std::vector<value> items;
  for (auto i : indices_of(*range))
    items.push_back(x.as<sequence_ptr>()->items[i]);
  return make_sequence(spent, std::move(items), x.as<sequence_ptr>()->form);
}

} // namespace troupe::jinja
