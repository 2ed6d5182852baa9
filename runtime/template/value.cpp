#include "runtime/template/value.hpp"

#include "runtime/template/callable.hpp"
#include "runtime/template/characters.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace troupe::jinja {

bool dictionary::set(value key, value x) {
  auto hash = hash_key(key);
  if (!hash)
    return false;
  depth_ = std::max({depth_, 1 + depth_of(key), 1 + depth_of(x)});
  auto [place, is_new] = index_.try_emplace(std::move(*hash), items_.size());
  if (is_new)
    items_.emplace_back(std::move(key), std::move(x));
  else
    items_[place->second].second = std::move(x);
  return true;
}

const value* dictionary::find(const value& key) const {
  auto hash = hash_key(key);
  if (!hash)
    return nullptr;
  auto place = index_.find(*hash);
  return place == index_.end() ? nullptr : &items_[place->second].second;
}

const value* dictionary::find(std::string_view key) const {
  auto place = index_.find(std::string{"s"}.append(key));
  return place == index_.end() ? nullptr : &items_[place->second].second;
}

value make_sequence(budget& spent, std::vector<value> items,
                    sequence_form form) {
  spent.touch(items.size() * sizeof(value));
  if (!spent.may_make_items(items.size()))
    items.clear();
  size_t depth = 0;
  for (auto& x : items)
    depth = std::max(depth, depth_of(x));
  if (!spent.may_nest(depth + 1))
    items.clear();
  return value{std::make_shared<const sequence>(
    sequence{form, std::move(items), depth + 1})};
}

value make_dictionary(budget& spent, dictionary x) {
  spent.touch(x.items().size() * 4 * sizeof(value));
  if (!spent.may_make_items(x.items().size()) || !spent.may_nest(x.depth()))
    x = {};
  return value{std::make_shared<const dictionary>(std::move(x))};
}

size_t depth_of(const value& x) {
  if (x.is<sequence_ptr>())
    return x.as<sequence_ptr>()->depth;
  if (x.is<dictionary_ptr>())
    return x.as<dictionary_ptr>()->depth();
  if (x.is<callable_ptr>()) // a bound method holds its object
    return 1 + depth_of(x.as<callable_ptr>()->self);
  return 0;
}

namespace {

std::optional<std::string> hash_tuple(const sequence& x) {
  if (x.form != sequence_form::tuple)
    return std::nullopt;
  std::string out = "t";
  for (auto& item : x.items) {
    auto part = hash_key(item);
    if (!part)
      return std::nullopt;
    out += fmt::format("{}:{}", part->size(), *part);
    // A tuple may hold another one many times over.
    if (out.size() > tuple_key_bytes_max)
      return std::nullopt;
  }
  return out;
}

} // namespace

std::optional<std::string> hash_key(const value& x) {
  if (x.is_text())
    return std::string{"s"}.append(x.text().bytes());
  if (auto whole = integer_of(x))
    return fmt::format("i{}", *whole);
  if (x.is<double>()) {
    auto number = x.as<double>();
    if (std::abs(number) < 9e18 && std::trunc(number) == number)
      return fmt::format("i{}", static_cast<int64_t>(number));
    return fmt::format("f{}", std::bit_cast<uint64_t>(number));
  }
  if (x.is<none>())
    return "n";
  if (x.is<undefined>())
    return "u";
  if (x.is<sequence_ptr>())
    return hash_tuple(*x.as<sequence_ptr>());
  return std::nullopt;
}

void touch_key(budget& spent, const value& key) {
  spent.touch(key.is_text()            ? key.text().size()
              : key.is<sequence_ptr>() ? tuple_key_bytes_max
                                       : sizeof(value));
}

std::string_view type_name(const value& x) {
  static constexpr std::array<std::string_view, 11> names{
    "an undefined value", "none",   "a boolean", "an integer",  "a float",
    "a string",           "a list", "a mapping", "a namespace", "a loop",
    "a function"};
  static_assert(names.size() == std::variant_size_v<value::storage>);
  if (x.is<sequence_ptr>() && x.as<sequence_ptr>()->form != sequence_form::list)
    return x.as<sequence_ptr>()->form == sequence_form::tuple ? "a tuple"
                                                              : "an iterator";
  return names[x.data().index()];
}

bool truth(const value& x) {
  if (x.is<bool>())
    return x.as<bool>();
  if (x.is<int64_t>())
    return x.as<int64_t>() != 0;
  if (x.is<double>())
    return x.as<double>() != 0.0;
  if (x.is_text())
    return !x.text().empty();
  if (x.is<sequence_ptr>())
    return x.as<sequence_ptr>()->form == sequence_form::iterator ||
           !x.as<sequence_ptr>()->items.empty();
  if (x.is<dictionary_ptr>())
    return !x.as<dictionary_ptr>()->items().empty();
  return !x.is<undefined>() && !x.is<none>();
}

std::optional<int64_t> integer_of(const value& x) {
  if (x.is<int64_t>())
    return x.as<int64_t>();
  if (x.is<bool>())
    return x.as<bool>() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> number_of(const value& x) {
  if (x.is<double>())
    return x.as<double>();
  if (auto whole = integer_of(x))
    return static_cast<double>(*whole);
  return std::nullopt;
}

namespace {

bool equal_items(const sequence& a, const sequence& b, budget& spent) {
  if (a.form != b.form || a.items.size() != b.items.size())
    return false;
  for (size_t i = 0; i < a.items.size() && !spent.failed(); ++i)
    if (!equal(a.items[i], b.items[i], spent))
      return false;
  return true;
}

bool equal_mappings(const dictionary& a, const dictionary& b, budget& spent) {
  if (a.items().size() != b.items().size())
    return false;
  for (auto& [key, x] : a.items()) {
    auto other = b.find(key);
    if (!other || spent.failed() || !equal(x, *other, spent))
      return false;
  }
  return true;
}

} // namespace

bool equal(const value& a, const value& b, budget& spent) {
  spent.touch(8);
  if (auto x = integer_of(a), y = integer_of(b); x && y)
    return *x == *y;
  if (auto x = number_of(a), y = number_of(b); x && y)
    return *x == *y;
  if (a.data().index() != b.data().index())
    return false;
  if (a.is_text()) {
    spent.touch(std::min(a.text().size(), b.text().size()));
    return a.text().bytes() == b.text().bytes();
  }
  if (a.is<sequence_ptr>())
    return equal_items(*a.as<sequence_ptr>(), *b.as<sequence_ptr>(), spent);
  if (a.is<dictionary_ptr>())
    return equal_mappings(*a.as<dictionary_ptr>(), *b.as<dictionary_ptr>(),
                          spent);
  if (a.is<space_ptr>())
    return a.as<space_ptr>() == b.as<space_ptr>();
  if (a.is<callable_ptr>())
    return a.as<callable_ptr>() == b.as<callable_ptr>();
  return !a.is<loop_ptr>() || a.as<loop_ptr>() == b.as<loop_ptr>();
}

namespace {

/// Fails as soon as two elements have no order.
result<int> compare_items(const sequence& a, const sequence& b, budget& spent) {
  auto shared = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < shared && !spent.failed(); ++i)
    if (!equal(a.items[i], b.items[i], spent))
      return compare(a.items[i], b.items[i], spent);
  return a.items.size() < b.items.size()   ? -1
         : a.items.size() > b.items.size() ? 1
                                           : 0;
}

} // namespace

result<int> compare(const value& a, const value& b, budget& spent) {
  spent.touch(8);
  auto order = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (auto x = integer_of(a), y = integer_of(b); x && y)
    return order(*x, *y);
  if (auto x = number_of(a), y = number_of(b); x && y)
    return order(*x, *y);
  if (a.is_text() && b.is_text()) {
    // Bytes of UTF-8 are in the order of their characters.
    spent.touch(std::min(a.text().size(), b.text().size()));
    return order(a.text().bytes(), b.text().bytes());
  }
  if (a.is<sequence_ptr>() && b.is<sequence_ptr>() &&
      a.as<sequence_ptr>()->form == b.as<sequence_ptr>()->form)
    return compare_items(*a.as<sequence_ptr>(), *b.as<sequence_ptr>(), spent);
  return fail(ec::invalid_argument, "{} and {} have no order", type_name(a),
              type_name(b));
}

namespace {

sequence_ptr characters_of(const marked_text& x, budget& spent) {
  auto out = std::make_shared<sequence>();
  spent.touch(x.size() * sizeof(marked_text));
  if (!spent.may_make_items(count_characters(x.bytes())))
    return out;
  for (size_t at = 0; at < x.size();) {
    auto length = character_bytes(x.bytes()[at]);
    out->items.emplace_back(x.slice(at, length));
    at += length;
  }
  return out;
}

} // namespace

result<sequence_ptr> iterate(const value& x, budget& spent) {
  if (x.is<sequence_ptr>())
    return x.as<sequence_ptr>();
  if (x.is_text())
    return characters_of(x.text(), spent);
  auto out = std::make_shared<sequence>();
  if (x.is<undefined>())
    return out;
  if (!x.is<dictionary_ptr>())
    return fail(ec::invalid_argument,
                "expected a list, string or mapping to go through, found {}",
                type_name(x));
  for (auto& [key, item] : x.as<dictionary_ptr>()->items())
    out->items.push_back(key);
  spent.touch(out->items.size() * sizeof(value));
  return out;
}

} // namespace troupe::jinja
