// Filters over lists and mappings as a whole.
#include "runtime/template/builtins.hpp"
#include "runtime/template/characters.hpp"
#include "runtime/template/operators.hpp"
#include "runtime/template/text_operations.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

value lazy(call& x, std::vector<value> items) {
  return make_sequence(x.spent(), std::move(items), sequence_form::iterator);
}

result<value> filter_length(call& x) {
  if (x.self.is_text()) {
    x.spent().touch(x.self.text().size());
    return value{static_cast<int64_t>(count_characters(x.self.text().bytes()))};
  }
  if (x.self.is<dictionary_ptr>())
    return value{
      static_cast<int64_t>(x.self.as<dictionary_ptr>()->items().size())};
  if (x.self.is<sequence_ptr>() &&
      x.self.as<sequence_ptr>()->form != sequence_form::iterator)
    return value{static_cast<int64_t>(x.self.as<sequence_ptr>()->items.size())};
  if (x.self.is<undefined>())
    return value{int64_t{0}};
  return fail(ec::invalid_argument, "{} has no length{}", type_name(x.self),
              x.self.is<sequence_ptr>() ? " (\"| list\" makes it a list)" : "");
}

enum class list_end : uint8_t { first, last };

template <list_end Which>
result<value> filter_end(call& x) {
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  if ((*items)->items.empty())
    return value::missing("an empty list has no first or last element");
  return Which == list_end::first ? (*items)->items.front()
                                  : (*items)->items.back();
}

result<value> filter_list(call& x) {
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  return make_sequence(x.spent(), (*items)->items);
}

result<value> filter_reverse(call& x) {
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  if (x.self.is_text()) {
    text_builder out{x.spent()};
    for (auto i = (*items)->items.rbegin(); i != (*items)->items.rend(); ++i)
      out.append(i->text());
    return out.to_value();
  }
  return lazy(x, {(*items)->items.rbegin(), (*items)->items.rend()});
}

result<value> filter_items(call& x) {
  if (x.self.is<undefined>())
    return lazy(x, {});
  if (!x.self.is<dictionary_ptr>())
    return fail(ec::invalid_argument, "expected a mapping, found {}",
                type_name(x.self));
  std::vector<value> out;
  for (auto& [key, item] : x.self.as<dictionary_ptr>()->items())
    out.push_back(make_sequence(x.spent(), {key, item}, sequence_form::tuple));
  return lazy(x, std::move(out));
}

/// Strings in lower case unless the case counts.
value folded(const value& x, bool is_case_sensitive, budget& spent) {
  return !is_case_sensitive && x.is_text() ? value{lower(x.text(), spent)} : x;
}

/// An element with what it is sorted by.
struct keyed {
  value key;
  value item;
};

/// Sorts stably; a fault of comparing is kept and fails the whole.
result<void> sort_keyed(std::vector<keyed>& xs, bool is_reverse,
                        budget& spent) {
  std::optional<error> fault;
  auto is_before = [&](const keyed& a, const keyed& b) {
    if (fault || spent.failed() || equal(a.key, b.key, spent))
      return false; // equals need no order: none and none, for example
    auto order =
      is_reverse ? compare(b.key, a.key, spent) : compare(a.key, b.key, spent);
    if (!order)
      fault = order.error();
    return order && *order < 0;
  };
  std::stable_sort(xs.begin(), xs.end(), is_before);
  if (fault)
    return tl::unexpected(std::move(*fault));
  return {};
}

/// The key of `item` by comma-separated paths; without one, itself.
result<value> sort_key(call& x, const value& item,
                       const std::optional<value>& path,
                       bool is_case_sensitive) {
  if (!path)
    return folded(item, is_case_sensitive, x.spent());
  std::vector<value> keys;
  auto paths = path->is_text() ? split(path->text(), ",",
                                       x.spent().most().items_max, x.spent())
                               : std::vector<value>{*path};
  for (auto& one : paths) {
    auto key = attribute_of(item, one, x.spent());
    if (!key)
      return key;
    keys.push_back(folded(*key, is_case_sensitive, x.spent()));
  }
  return make_sequence(x.spent(), std::move(keys));
}

std::optional<value> given_path(const bound_arguments& args, size_t i) {
  if (args.has(i) && !args.at(i).is<none>())
    return args.at(i);
  return std::nullopt;
}

result<std::vector<keyed>> with_keys(call& x, const std::vector<value>& items,
                                     const std::optional<value>& path,
                                     bool is_case_sensitive) {
  std::vector<keyed> out;
  for (auto& item : items) {
    auto key = sort_key(x, item, path, is_case_sensitive);
    if (!key)
      return pass(key);
    out.push_back({std::move(*key), item});
  }
  return out;
}

std::vector<value> items_of(const std::vector<keyed>& xs) {
  std::vector<value> out;
  for (auto& x : xs)
    out.push_back(x.item);
  return out;
}

result<value> filter_sort(call& x) {
  auto args = bind(x, {"reverse", "case_sensitive", "attribute"});
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto keys =
    with_keys(x, (*items)->items, given_path(*args, 2), args->flag(1));
  if (!keys)
    return pass(keys);
  if (auto ok = sort_keyed(*keys, args->flag(0), x.spent()); !ok)
    return pass(ok);
  return make_sequence(x.spent(), items_of(*keys));
}

result<value> filter_dictsort(call& x) {
  auto args = bind(x, {"case_sensitive", "by", "reverse"});
  if (!args)
    return pass(args);
  if (!x.self.is<dictionary_ptr>())
    return fail(ec::invalid_argument, "expected a mapping, found {}",
                type_name(x.self));
  auto by = args->or_default(1, value::text("key"));
  auto is_by_key = by.is_text() && by.text().bytes() == "key";
  if (!is_by_key && !(by.is_text() && by.text().bytes() == "value"))
    return fail(ec::invalid_argument, "by: expected \"key\" or \"value\"");
  std::vector<keyed> pairs;
  for (auto& [key, item] : x.self.as<dictionary_ptr>()->items())
    pairs.push_back(
      {folded(is_by_key ? key : item, args->flag(0), x.spent()),
       make_sequence(x.spent(), {key, item}, sequence_form::tuple)});
  if (auto ok = sort_keyed(pairs, args->flag(2), x.spent()); !ok)
    return pass(ok);
  return make_sequence(x.spent(), items_of(pairs));
}

result<value> filter_unique(call& x) {
  auto args = bind(x, {"case_sensitive", "attribute"});
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  std::vector<value> out;
  dictionary seen;
  for (auto& item : (*items)->items) {
    auto key = args->has(1) ? attribute_of(item, args->at(1), x.spent())
                            : result<value>{item};
    if (!key)
      return key;
    auto fold = folded(*key, args->flag(0), x.spent());
    auto count = seen.items().size();
    touch_key(x.spent(), fold);
    if (!x.spent().may_make_items(count + 1))
      break;
    if (!seen.set(fold, value{none{}}))
      return fail(ec::invalid_argument, "{} cannot be told apart",
                  type_name(fold));
    if (seen.items().size() > count)
      out.push_back(item);
  }
  return lazy(x, std::move(out));
}

enum class extreme : int8_t { least = -1, most = 1 };

template <extreme Which>
result<value> filter_extreme(call& x) {
  auto args = bind(x, {"case_sensitive", "attribute"});
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto keys =
    with_keys(x, (*items)->items, given_path(*args, 1), args->flag(0));
  if (!keys)
    return pass(keys);
  if (keys->empty())
    return value::missing("an empty list has no least or greatest element");
  auto* best = &keys->front();
  for (auto& candidate : *keys) {
    auto order = compare(candidate.key, best->key, x.spent());
    if (!order)
      return pass(order);
    if (*order == static_cast<int>(Which))
      best = &candidate;
  }
  return best->item;
}

result<value> filter_sum(call& x) {
  auto args = bind(x, {"attribute", "start"});
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto path = given_path(*args, 0);
  result<value> sum = args->or_default(1, value{int64_t{0}});
  for (auto& item : (*items)->items) {
    auto term =
      path ? attribute_of(item, *path, x.spent()) : result<value>{item};
    if (!term)
      return term;
    sum = compute(operation::add, *sum, *term, x.spent());
    if (!sum || x.spent().failed())
      break;
  }
  return sum;
}

result<size_t> need_count(const value& x) {
  auto count = need_integer(x, "count");
  if (!count)
    return pass(count);
  if (*count < 1 || *count > 100'000)
    return fail(ec::invalid_argument, "expected 1 to 100000, found {}", *count);
  return static_cast<size_t>(*count);
}

/// Lists of `linecount` elements, the last one filled up if asked.
result<value> filter_batch(call& x) {
  auto args = bind(x, {"linecount", "fill_with"}, 1);
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto count = need_count(args->at(0));
  if (!count)
    return pass(count);
  std::vector<value> out;
  auto& from = (*items)->items;
  for (size_t at = 0; at < from.size() && !x.spent().failed(); at += *count) {
    auto end = std::min(at + *count, from.size());
    std::vector<value> row(from.begin() + static_cast<ptrdiff_t>(at),
                           from.begin() + static_cast<ptrdiff_t>(end));
    if (args->has(1) && !args->at(1).is<none>())
      row.resize(*count, args->at(1));
    out.push_back(make_sequence(x.spent(), std::move(row)));
  }
  return lazy(x, std::move(out));
}

/// (key, elements) for each key, in the order of the keys.
result<value> filter_groupby(call& x) {
  auto args = bind(x, {"attribute", "default", "case_sensitive"}, 1);
  if (!args)
    return pass(args);
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  std::vector<keyed> keys;
  for (auto& item : (*items)->items) {
    auto key = attribute_of(item, args->at(0), x.spent());
    if (!key)
      return key;
    if (key->is<undefined>() && args->has(1))
      key = args->at(1);
    keys.push_back({folded(*key, args->flag(2), x.spent()), item});
  }
  if (auto ok = sort_keyed(keys, false, x.spent()); !ok)
    return pass(ok);
  std::vector<value> groups;
  for (size_t i = 0; i < keys.size() && !x.spent().failed();) {
    std::vector<value> members;
    auto first = attribute_of(keys[i].item, args->at(0), x.spent());
    auto key = first && !first->is<undefined>() ? *first : keys[i].key;
    auto begin = i;
    while (i < keys.size() && equal(keys[i].key, keys[begin].key, x.spent()))
      members.push_back(keys[i++].item);
    groups.push_back(make_sequence(
      x.spent(), {key, make_sequence(x.spent(), std::move(members))},
      sequence_form::tuple));
    if (i == begin) // NaN equals nothing
      ++i;
  }
  return make_sequence(x.spent(), std::move(groups));
}

} // namespace

std::span<const named_native> list_filters() {
  static constexpr named_native table[] = {
    {"length", filter_length},
    {"count", filter_length},
    {"first", filter_end<list_end::first>},
    {"last", filter_end<list_end::last>},
    {"list", filter_list},
    {"reverse", filter_reverse},
    {"items", filter_items},
    {"sort", filter_sort},
    {"dictsort", filter_dictsort},
    {"unique", filter_unique},
    {"min", filter_extreme<extreme::least>},
    {"max", filter_extreme<extreme::most>},
    {"sum", filter_sum},
    {"batch", filter_batch},
    {"groupby", filter_groupby},
  };
  return table;
}

} // namespace troupe::jinja
