// Members and elements of values: methods of containers and loops, and x[key].
#include "runtime/template/builtins.hpp"
#include "runtime/template/characters.hpp"

#include <algorithm>
#include <array>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

const dictionary& self_mapping(const call& x) {
  return *x.self.as<dictionary_ptr>();
}

enum class half : uint8_t { key, item, both };

template <half Part>
result<value> call_items(call& x) {
  if (auto args = bind(x, {}); !args)
    return pass(args);
  std::vector<value> out;
  for (auto& [key, item] : self_mapping(x).items())
    out.push_back(Part == half::key    ? key
                  : Part == half::item ? item
                                       : make_sequence(x.spent(), {key, item},
                                                       sequence_form::tuple));
  return make_sequence(x.spent(), std::move(out));
}

result<value> call_get(call& x) {
  auto args = bind(x, {"key", "default"}, 1);
  if (!args)
    return pass(args);
  touch_key(x.spent(), args->at(0));
  if (auto* found = self_mapping(x).find(args->at(0)))
    return *found;
  return args->or_default(1, value{none{}});
}

result<value> call_copy(call& x) {
  return x.self;
}

result<value> call_list_index(call& x) {
  auto args = bind(x, {"value"}, 1);
  if (!args)
    return pass(args);
  auto& items = x.self.as<sequence_ptr>()->items;
  for (size_t i = 0; i < items.size() && !x.spent().failed(); ++i)
    if (equal(items[i], args->at(0), x.spent()))
      return value{static_cast<int64_t>(i)};
  return fail(ec::invalid_argument, "the list has no such element");
}

result<value> call_list_count(call& x) {
  auto args = bind(x, {"value"}, 1);
  if (!args)
    return pass(args);
  int64_t count = 0;
  for (auto& item : x.self.as<sequence_ptr>()->items)
    count += !x.spent().failed() && equal(item, args->at(0), x.spent()) ? 1 : 0;
  return value{count};
}

result<value> call_cycle(call& x) {
  if (x.positional.empty())
    return fail(ec::invalid_argument, "expected values to take turns");
  return x.positional[x.self.as<loop_ptr>()->index % x.positional.size()];
}

result<value> call_changed(call& x) {
  auto given = make_sequence(x.spent(), x.positional, sequence_form::tuple);
  auto& last = x.self.as<loop_ptr>()->changed;
  if (last && equal(*last, given, x.spent()))
    return value{false};
  last = given;
  return value{true};
}

/// index, first, previtem, ...: what is no method of `loop`.
std::optional<value> loop_member(const loop_state& x, std::string_view name) {
  auto count = x.items->items.size();
  auto number = [](size_t n) { return value{static_cast<int64_t>(n)}; };
  if (name == "index")
    return number(x.index + 1);
  if (name == "index0")
    return number(x.index);
  if (name == "revindex")
    return number(count - x.index);
  if (name == "revindex0")
    return number(count - x.index - 1);
  if (name == "first")
    return value{x.index == 0};
  if (name == "last")
    return value{x.index + 1 == count};
  if (name == "length")
    return number(count);
  if (name == "depth")
    return number(1);
  if (name == "depth0")
    return number(0);
  if (name == "previtem")
    return x.index > 0 ? x.items->items[x.index - 1]
                       : value::missing("there is no previous item");
  if (name == "nextitem")
    return x.index + 1 < count ? x.items->items[x.index + 1]
                               : value::missing("there is no next item");
  return std::nullopt;
}

/// Methods that change what they belong to: refused, as transformers does.
std::optional<value> refused_method(const value& x, std::string_view name) {
  static constexpr std::array<std::string_view, 7> of_lists{
    "append", "clear", "extend", "insert", "pop", "remove", "sort"};
  static constexpr std::array<std::string_view, 5> of_mappings{
    "clear", "pop", "popitem", "setdefault", "update"};
  auto is_list = x.is<sequence_ptr>();
  auto is_one = [&](auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!(is_list && is_one(of_lists)) &&
      !(x.is<dictionary_ptr>() && is_one(of_mappings)))
    return std::nullopt;
  return value::missing(fmt::format("\"{}\" would change {}: a template cannot "
                                    "do that (\"+\" makes a new list)",
                                    name, type_name(x)));
}

std::span<const named_native> methods_of(const value& x) {
  if (x.is_text())
    return string_methods();
  if (x.is<dictionary_ptr>())
    return mapping_methods();
  if (x.is<sequence_ptr>())
    return list_methods();
  if (x.is<loop_ptr>())
    return loop_methods();
  return {};
}

} // namespace

std::span<const named_native> mapping_methods() {
  static constexpr named_native table[] = {
    {"keys", call_items<half::key>},
    {"values", call_items<half::item>},
    {"items", call_items<half::both>},
    {"get", call_get},
    {"copy", call_copy},
  };
  return table;
}

std::span<const named_native> list_methods() {
  static constexpr named_native table[] = {
    {"index", call_list_index},
    {"count", call_list_count},
    {"copy", call_copy},
  };
  return table;
}

std::span<const named_native> loop_methods() {
  static constexpr named_native table[] = {
    {"cycle", call_cycle},
    {"changed", call_changed},
  };
  return table;
}

std::optional<value> find_method(const value& x, std::string_view name) {
  if (x.is<loop_ptr>())
    if (auto found = loop_member(*x.as<loop_ptr>(), name))
      return found;
  auto code = find_in(methods_of(x), name);
  if (!code)
    return refused_method(x, name);
  auto out = std::make_shared<callable>();
  out->name = name;
  out->code = code;
  out->self = x;
  return value{callable_ptr{std::move(out)}};
}

namespace {

value element(const value& x, int64_t index, budget& spent) {
  spent.touch(x.is_text() ? x.text().size() : sizeof(value));
  auto size = x.is_text() ? count_characters(x.text().bytes())
                          : x.as<sequence_ptr>()->items.size();
  auto place = index < 0 ? index + static_cast<int64_t>(size) : index;
  if (place < 0 || place >= static_cast<int64_t>(size))
    return value::missing(fmt::format("{} of {} elements has no element {}",
                                      type_name(x), size, index));
  if (!x.is_text())
    return x.as<sequence_ptr>()->items[static_cast<size_t>(place)];
  auto at = offset_of_character(x.text().bytes(), static_cast<size_t>(place));
  return value{x.text().slice(at, character_bytes(x.text().bytes()[at]))};
}

} // namespace

result<value> subscript(const value& x, const value& key, budget& spent) {
  if (x.is<undefined>()) {
    auto& why = x.as<undefined>().why;
    return fail(ec::invalid_argument, "{}", why ? *why : "an undefined value");
  }
  touch_key(spent, key);
  if (x.is<dictionary_ptr>()) {
    if (auto* found = x.as<dictionary_ptr>()->find(key))
      return *found;
  } else if (auto index = integer_of(key);
             index && (x.is_text() ||
                       (x.is<sequence_ptr>() &&
                        x.as<sequence_ptr>()->form != sequence_form::iterator)))
    return element(x, *index, spent);
  if (!key.is_text())
    return value::missing(fmt::format("{} has no such member", type_name(x)));
  auto name = key.text().bytes();
  if (x.is<space_ptr>())
    if (auto found = x.as<space_ptr>()->members.find(name);
        found != x.as<space_ptr>()->members.end())
      return found->second;
  if (auto method = find_method(x, name))
    return *method;
  return value::missing(
    fmt::format("{} has no member \"{}\"", type_name(x), name.substr(0, 80)));
}

} // namespace troupe::jinja
