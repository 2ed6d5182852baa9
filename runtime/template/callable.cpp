#include "runtime/template/callable.hpp"

#include <algorithm>

namespace troupe::jinja {

result<bound_arguments> bind(call& x, std::initializer_list<const char*> names,
                             size_t needed) {
  if (x.positional.size() > names.size())
    return fail(ec::invalid_argument, "expected at most {} arguments, found {}",
                names.size(), x.positional.size());
  std::vector<std::optional<value>> out(names.size());
  std::copy(x.positional.begin(), x.positional.end(), out.begin());
  for (auto& [name, given] : x.named) {
    auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end())
      return fail(ec::invalid_argument, "there is no argument \"{}\"", name);
    auto& slot = out[static_cast<size_t>(place - names.begin())];
    if (slot)
      return fail(ec::invalid_argument, "the argument \"{}\" is given twice",
                  name);
    slot = given;
  }
  for (size_t i = 0; i < needed; ++i)
    if (!out[i])
      return fail(ec::invalid_argument, "the argument \"{}\" is missing",
                  names.begin()[i]);
  return bound_arguments{std::move(out)};
}

result<int64_t> need_integer(const value& x, std::string_view what) {
  if (auto whole = integer_of(x))
    return *whole;
  return fail(ec::invalid_argument, "{}: expected a whole number, found {}",
              what, type_name(x));
}

result<text_ptr> need_text(const value& x, std::string_view what) {
  if (x.is_text())
    return x.as<text_ptr>();
  return fail(ec::invalid_argument, "{}: expected a string, found {}", what,
              type_name(x));
}

} // namespace troupe::jinja
