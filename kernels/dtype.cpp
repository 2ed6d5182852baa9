// Look-ups in the traits table by name.
#include "kernels/dtype.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

constexpr bool table_is_indexed_by_type() {
  for (size_t i = 0; i < dtype_table.size(); ++i)
    if (static_cast<size_t>(dtype_table[i].type) != i)
      return false;
  return dtype_table.size() == static_cast<size_t>(dtype::boolean) + 1;
}

static_assert(table_is_indexed_by_type());

} // namespace

std::string_view to_string(dtype type) {
  return traits_of(type).name;
}

std::optional<dtype> dtype_from_name(std::string_view name) {
  const auto found = std::ranges::find(dtype_table, name, &dtype_traits::name);
  if (found == dtype_table.end())
    return std::nullopt;
  return found->type;
}

} // namespace troupe::kernels
