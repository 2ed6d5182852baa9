// Filters that look at each element: map, select and their kin.
#include "runtime/template/builtins.hpp"
#include "runtime/template/text_operations.hpp"

#include <algorithm>
#include <charconv>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

/// A step of a path: digits are an index.
value path_step(const value& x) {
  auto word = x.text().bytes();
  int64_t index = 0;
  auto last = word.data() + word.size();
  auto read = std::from_chars(word.data(), last, index);
  auto is_number = !word.empty() && word[0] != '-' && read.ptr == last &&
                   read.ec == std::errc{};
  return is_number ? value{index} : x;
}

/// A filter or test named by an argument, with the arguments after it.
struct named_call {
  native code = nullptr;
  std::vector<value> positional;
  std::vector<std::pair<std::string, value>> named;

  result<value> operator()(call& x, const value& self) const {
    call inner{x.run, self, positional, named};
    return code(inner);
  }
};

/// Takes the function that argument `first` of `x` names; none given means
/// that `code` is null.
result<named_call> callee(call& x, size_t first,
                          native (*find)(std::string_view)) {
  named_call out;
  if (x.positional.size() <= first)
    return out;
  auto name = need_text(x.positional[first], "the name");
  if (!name)
    return pass(name);
  out.code = find((*name)->bytes());
  if (!out.code)
    return fail(ec::unsupported, "there is no \"{}\"",
                (*name)->bytes().substr(0, 80));
  out.positional.assign(x.positional.begin() + static_cast<ptrdiff_t>(first) +
                          1,
                        x.positional.end());
  out.named = x.named;
  return out;
}

/// Elements of `x` on which `pick` gives the wanted truth.
template <class Pick>
result<value> pick(call& x, bool is_wanted, Pick holds) {
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  std::vector<value> out;
  for (auto& item : (*items)->items) {
    x.spent().step();
    result<bool> found = holds(item);
    if (!found)
      return pass(found);
    if (x.spent().failed())
      break;
    if (*found == is_wanted)
      out.push_back(item);
  }
  return make_sequence(x.spent(), std::move(out), sequence_form::iterator);
}

result<bool> check(call& x, const named_call& test, const value& item) {
  if (!test.code)
    return truth(item);
  auto found = test(x, item);
  if (!found)
    return pass(found);
  return truth(*found);
}

enum class keep : uint8_t { where_true, where_false };

template <keep Which>
result<value> filter_select(call& x) {
  auto test = callee(x, 0, find_test);
  if (!test)
    return pass(test);
  return pick(x, Which == keep::where_true,
              [&](const value& item) { return check(x, *test, item); });
}

template <keep Which>
result<value> filter_selectattr(call& x) {
  if (x.positional.empty())
    return fail(ec::invalid_argument, "expected the name of a member");
  auto path = x.positional[0];
  auto test = callee(x, 1, find_test);
  if (!test)
    return pass(test);
  return pick(x, Which == keep::where_true,
              [&](const value& item) -> result<bool> {
                auto member = attribute_of(item, path, x.spent());
                if (!member)
                  return pass(member);
                return check(x, *test, *member);
              });
}

/// map(attribute="x", default=y).
result<value> map_attribute(call& x, const value& item) {
  const value* path = nullptr;
  const value* otherwise = nullptr;
  for (auto& [name, given] : x.named) {
    if (name != "attribute" && name != "default")
      return fail(ec::invalid_argument, "there is no argument \"{}\"", name);
    (name == "attribute" ? path : otherwise) = &given;
  }
  return attribute_of(item, *path, x.spent(), otherwise);
}

result<value> filter_map(call& x) {
  auto items = iterate(x.self, x.spent());
  if (!items)
    return pass(items);
  auto filter = callee(x, 0, find_filter);
  if (!filter)
    return pass(filter);
  auto has_path = std::any_of(x.named.begin(), x.named.end(), [](auto& given) {
    return given.first == "attribute";
  });
  if (!filter->code && !has_path)
    return fail(ec::invalid_argument,
                "expected the name of a filter, or attribute=");
  std::vector<value> out;
  for (auto& item : (*items)->items) {
    x.spent().step();
    auto mapped = filter->code ? (*filter)(x, item) : map_attribute(x, item);
    if (!mapped)
      return mapped;
    if (x.spent().failed())
      break;
    out.push_back(std::move(*mapped));
  }
  return make_sequence(x.spent(), std::move(out), sequence_form::iterator);
}

} // namespace

result<value> attribute_of(const value& x, const value& path, budget& spent,
                           const value* otherwise) {
  auto steps = path.is_text()
                 ? split(path.text(), ".", spent.most().depth_max, spent)
                 : std::vector<value>{path};
  result<value> out = x;
  for (auto& one : steps) {
    out = subscript(*out, one.is_text() ? path_step(one) : one, spent);
    if (!out)
      break;
    if (otherwise && out->is<undefined>())
      out = *otherwise;
  }
  return out;
}

std::span<const named_native> picking_filters() {
  static constexpr named_native table[] = {
    {"map", filter_map},
    {"select", filter_select<keep::where_true>},
    {"reject", filter_select<keep::where_false>},
    {"selectattr", filter_selectattr<keep::where_true>},
    {"rejectattr", filter_selectattr<keep::where_false>},
  };
  return table;
}

} // namespace troupe::jinja
