#include "runtime/template/builtins.hpp"

#include <algorithm>

namespace troupe::jinja {

native find_in(std::span<const named_native> table, std::string_view name) {
  auto found = std::find_if(table.begin(), table.end(),
                            [&](auto& x) { return x.name == name; });
  return found == table.end() ? nullptr : found->code;
}

native find_filter(std::string_view name) {
  for (auto table :
       {text_filters(), list_filters(), picking_filters(), scalar_filters()})
    if (auto code = find_in(table, name))
      return code;
  return nullptr;
}

native find_test(std::string_view name) {
  return find_in(tests(), name);
}

native find_function(std::string_view name) {
  return find_in(functions(), name);
}

} // namespace troupe::jinja
