// What stands after `is`.
#include "runtime/template/builtins.hpp"
#include "runtime/template/characters.hpp"
#include "runtime/template/operators.hpp"

namespace troupe::jinja {

namespace {

template <class T>
tl::unexpected<error> pass(result<T>& x) {
  return tl::unexpected(std::move(x.error()));
}

using predicate = bool (*)(const value&);

template <predicate Holds>
result<value> test_of_self(call& x) {
  if (auto args = bind(x, {}); !args)
    return pass(args);
  if (x.self.is_text()) // some look at all of it
    x.spent().touch(x.self.text().size());
  return value{Holds(x.self)};
}

bool is_defined(const value& x) {
  return !x.is<undefined>();
}
bool is_undefined(const value& x) {
  return x.is<undefined>();
}
bool is_none(const value& x) {
  return x.is<none>();
}
bool is_boolean(const value& x) {
  return x.is<bool>();
}
bool is_true(const value& x) {
  return x.is<bool>() && x.as<bool>();
}
bool is_false(const value& x) {
  return x.is<bool>() && !x.as<bool>();
}
bool is_integer(const value& x) {
  return x.is<int64_t>();
}
bool is_float(const value& x) {
  return x.is<double>();
}
bool is_number(const value& x) {
  return number_of(x).has_value();
}
bool is_string(const value& x) {
  return x.is_text();
}
bool is_mapping(const value& x) {
  return x.is<dictionary_ptr>();
}
bool is_callable(const value& x) {
  return x.is<callable_ptr>() || x.is<undefined>(); // Jinja says so
}
bool is_iterable(const value& x) {
  return x.is_text() || x.is<sequence_ptr>() || x.is<dictionary_ptr>() ||
         x.is<undefined>();
}
bool is_sequence(const value& x) {
  return x.is_text() || x.is<dictionary_ptr>() ||
         (x.is<sequence_ptr>() &&
          x.as<sequence_ptr>()->form != sequence_form::iterator);
}

/// Whether `x` has letters with a case, all of the one that is asked for.
bool has_case(const value& x, bool (*wanted)(char32_t),
              bool (*other)(char32_t)) {
  if (!x.is_text())
    return false;
  auto bytes = x.text().bytes();
  auto is_found = false;
  for (size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
    auto point = character_at(bytes, at);
    if (other(point))
      return false;
    is_found = is_found || wanted(point);
  }
  return is_found;
}
bool is_lower_case(const value& x) {
  return has_case(x, is_lower, is_upper);
}
bool is_upper_case(const value& x) {
  return has_case(x, is_upper, is_lower);
}

result<bool> divides(call& x, const value& divisor) {
  auto rest = compute(operation::modulo, x.self, divisor, x.spent());
  if (!rest)
    return pass(rest);
  return !truth(*rest);
}

template <bool IsOdd>
result<value> test_parity(call& x) {
  auto is_even = divides(x, value{int64_t{2}});
  if (!is_even)
    return pass(is_even);
  return value{*is_even != IsOdd};
}

result<value> test_divisibleby(call& x) {
  auto args = bind(x, {"num"}, 1);
  if (!args)
    return pass(args);
  auto is_so = divides(x, args->at(0));
  if (!is_so)
    return pass(is_so);
  return value{*is_so};
}

template <operation What>
result<value> test_operation(call& x) {
  auto args = bind(x, {"other"}, 1);
  if (!args)
    return pass(args);
  auto is_so = holds(What, x.self, args->at(0), x.spent());
  if (!is_so)
    return pass(is_so);
  return value{*is_so};
}

/// The same object; equal scalars of one kind count as such.
result<value> test_sameas(call& x) {
  auto args = bind(x, {"other"}, 1);
  if (!args)
    return pass(args);
  auto& other = args->at(0);
  if (x.self.data().index() != other.data().index())
    return value{false};
  if (x.self.is<sequence_ptr>())
    return value{x.self.as<sequence_ptr>() == other.as<sequence_ptr>()};
  if (x.self.is<dictionary_ptr>())
    return value{x.self.as<dictionary_ptr>() == other.as<dictionary_ptr>()};
  return value{equal(x.self, other, x.spent())};
}

template <native (*Find)(std::string_view)>
result<value> test_name(call& x) {
  return value{x.self.is_text() && Find(x.self.text().bytes()) != nullptr};
}

} // namespace

std::span<const named_native> tests() {
  static constexpr named_native table[] = {
    {"defined", test_of_self<is_defined>},
    {"undefined", test_of_self<is_undefined>},
    {"none", test_of_self<is_none>},
    {"boolean", test_of_self<is_boolean>},
    {"true", test_of_self<is_true>},
    {"false", test_of_self<is_false>},
    {"integer", test_of_self<is_integer>},
    {"float", test_of_self<is_float>},
    {"number", test_of_self<is_number>},
    {"string", test_of_self<is_string>},
    {"mapping", test_of_self<is_mapping>},
    {"callable", test_of_self<is_callable>},
    {"iterable", test_of_self<is_iterable>},
    {"sequence", test_of_self<is_sequence>},
    {"lower", test_of_self<is_lower_case>},
    {"upper", test_of_self<is_upper_case>},
    {"odd", test_parity<true>},
    {"even", test_parity<false>},
    {"divisibleby", test_divisibleby},
    {"sameas", test_sameas},
    {"in", test_operation<operation::contained>},
    {"eq", test_operation<operation::equal>},
    {"equalto", test_operation<operation::equal>},
    {"==", test_operation<operation::equal>},
    {"ne", test_operation<operation::not_equal>},
    {"!=", test_operation<operation::not_equal>},
    {"lt", test_operation<operation::less>},
    {"lessthan", test_operation<operation::less>},
    {"<", test_operation<operation::less>},
    {"le", test_operation<operation::less_equal>},
    {"<=", test_operation<operation::less_equal>},
    {"gt", test_operation<operation::greater>},
    {"greaterthan", test_operation<operation::greater>},
    {">", test_operation<operation::greater>},
    {"ge", test_operation<operation::greater_equal>},
    {">=", test_operation<operation::greater_equal>},
    {"filter", test_name<find_filter>},
    {"test", test_name<find_test>},
  };
  return table;
}

} // namespace troupe::jinja
