// What a template can call: functions, filters, tests and methods written
// here, and macros. All built-in ones have one signature.
#pragma once

#include "runtime/template/value.hpp"

#include <ctime>
#include <initializer_list>

namespace troupe::jinja {

struct statement;
struct scope;

/// What a rendering is given besides its variables, and what it collects.
struct rendering {
  budget spent;
  std::optional<std::tm> now;    ///< For `strftime_now`.
  std::vector<space_ptr> spaces; ///< All namespaces made, to be emptied.
};

/// One call of a built-in.
struct call {
  rendering& run;
  value self; ///< A filter's or test's input, a method's object.
  std::vector<value> positional;
  std::vector<std::pair<std::string, value>> named;

  budget& spent() const {
    return run.spent;
  }
};

using native = result<value> (*)(call&);

struct callable {
  std::string name;
  native code = nullptr;
  value self;
  const statement* macro = nullptr; ///< Instead of `code`.
  std::weak_ptr<scope> home;        ///< Where the macro stands.
};

/// The arguments of a call by the place of their name in a list.
class bound_arguments {
public:
  explicit bound_arguments(std::vector<std::optional<value>> xs)
    : xs_(std::move(xs)) {
    // nop
  }

  bool has(size_t i) const {
    return xs_[i].has_value();
  }

  /// @pre has(i)
  const value& at(size_t i) const {
    return *xs_[i];
  }

  value or_default(size_t i, value x) const {
    return xs_[i] ? *xs_[i] : std::move(x);
  }

  bool flag(size_t i) const {
    return xs_[i] && truth(*xs_[i]);
  }

private:
  std::vector<std::optional<value>> xs_;
};

/// Orders the arguments of `x` by `names`. Fails if there are too many, if a
/// name is unknown or given twice, or if one of the first `needed` is missing.
result<bound_arguments> bind(call& x, std::initializer_list<const char*> names,
                             size_t needed = 0);

/// Whole number, or a failure that names `what`.
result<int64_t> need_integer(const value& x, std::string_view what);

/// String, or a failure that names `what`.
result<text_ptr> need_text(const value& x, std::string_view what);

/// nullptr if there is no such filter, test, or global function.
native find_filter(std::string_view name);
native find_test(std::string_view name);
native find_function(std::string_view name);

/// The method `name` of `x`; nothing if it has none. A method that would
/// change `x` is there, and fails when it is called.
std::optional<value> find_method(const value& x, std::string_view name);

/// `x[key]`, or undefined.
result<value> subscript(const value& x, const value& key, budget& spent);

} // namespace troupe::jinja
