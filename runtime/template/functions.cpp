// Global functions: Jinja's, and what transformers adds.
#include "runtime/template/builtins.hpp"
#include "runtime/template/value_text.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

result<value> function_range(call& x) {
  if (x.positional.empty() || x.positional.size() > 3 || !x.named.empty())
    return fail(ec::invalid_argument, "expected one to three whole numbers");
  int64_t bounds[3] = {0, 0, 1};
  for (size_t i = 0; i < x.positional.size(); ++i) {
    auto given = need_integer(x.positional[i], "a bound");
    if (!given)
      return pass(given);
    bounds[x.positional.size() == 1 ? 1 : i] = *given;
  }
  auto [first, last, step] = bounds;
  if (step == 0)
    return fail(ec::invalid_argument, "the step cannot be 0");
  std::vector<value> out;
  while (step > 0 ? first < last : first > last) {
    if (!x.spent().may_make_items(out.size() + 1))
      break;
    out.emplace_back(first);
    if (__builtin_add_overflow(first, step, &first))
      break;
  }
  return make_sequence(x.spent(), std::move(out));
}

/// dict(a=1) and dict(mapping, a=1); the members of a namespace too.
result<dictionary> members_of(call& x) {
  dictionary out;
  if (x.positional.size() > 1)
    return fail(ec::invalid_argument, "expected one mapping, found {}",
                x.positional.size());
  if (!x.positional.empty()) {
    if (!x.positional[0].is<dictionary_ptr>())
      return fail(ec::invalid_argument, "expected a mapping, found {}",
                  type_name(x.positional[0]));
    out = *x.positional[0].as<dictionary_ptr>();
    x.spent().touch(out.items().size() * 4 * sizeof(value));
  }
  for (auto& [name, given] : x.named)
    out.set(value::text(name), given);
  return out;
}

result<value> function_dict(call& x) {
  auto members = members_of(x);
  if (!members)
    return pass(members);
  return make_dictionary(x.spent(), std::move(*members));
}

result<value> function_namespace(call& x) {
  auto members = members_of(x);
  if (!members)
    return pass(members);
  auto out = std::make_shared<name_space>();
  for (auto& [key, item] : members->items()) {
    auto name = need_text(key, "a member's name");
    if (!name)
      return pass(name);
    out->members.emplace((*name)->bytes(), item);
  }
  x.spent().touch(sizeof(name_space));
  x.run.spaces.push_back(out);
  return value{std::move(out)};
}

result<value> function_raise_exception(call& x) {
  auto args = bind(x, {"message"}, 1);
  if (!args)
    return pass(args);
  auto message = to_text(args->at(0), x.spent());
  if (!message)
    return pass(message);
  return fail(ec::invalid_argument, "the template refuses the conversation: {}",
              message->bytes().substr(0, 1000));
}

/// Each conversion of `format` stands alone, so that none can ask for a width.
bool is_time_format(std::string_view format) {
  static constexpr std::string_view letters =
    "aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyYzZ%";
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%')
      continue;
    ++i;
    if (i < format.size() && format[i] == '-') // no padding
      ++i;
    if (i == format.size() || letters.find(format[i]) == std::string_view::npos)
      return false;
  }
  return true;
}

result<value> function_strftime_now(call& x) {
  auto args = bind(x, {"format"}, 1);
  if (!args)
    return pass(args);
  auto format = need_text(args->at(0), "format");
  if (!format)
    return pass(format);
  if (!x.run.now)
    return fail(ec::unsupported, "no time was given to this rendering");
  std::string text{(*format)->bytes()};
  if (text.size() > 256 || !is_time_format(text))
    return fail(ec::invalid_argument,
                "expected a format such as \"%d %b %Y\", found \"{}\"",
                text.substr(0, 80));
  char buffer[8192];
  text += '.'; // so that only an error gives no text
  auto length = std::strftime(buffer, sizeof buffer, text.c_str(), &*x.run.now);
  if (length == 0)
    return fail(ec::invalid_argument, "the text of the time is too long");
  return value::text({buffer, length - 1});
}

/// joiner(", "): nothing the first time, then its separator.
result<value> call_joiner(call& x) {
  auto& members = x.self.as<space_ptr>()->members;
  auto separator = members["separator"];
  if (!std::exchange(members["used"], value{true}).is<undefined>())
    return separator;
  return value::text("");
}

result<value> function_joiner(call& x) {
  auto args = bind(x, {"sep"});
  if (!args)
    return pass(args);
  auto state = std::make_shared<name_space>();
  x.spent().touch(sizeof(name_space));
  state->members["separator"] = args->or_default(0, value::text(", "));
  x.run.spaces.push_back(state);
  auto out = std::make_shared<callable>();
  out->name = "joiner";
  out->code = call_joiner;
  out->self = value{std::move(state)};
  return value{callable_ptr{std::move(out)}};
}

} // namespace

std::span<const named_native> functions() {
  static constexpr named_native table[] = {
    {"range", function_range},
    {"dict", function_dict},
    {"namespace", function_namespace},
    {"joiner", function_joiner},
    {"raise_exception", function_raise_exception},
    {"strftime_now", function_strftime_now},
  };
  return table;
}

} // namespace troupe::jinja
