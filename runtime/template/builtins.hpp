// The tables of what templates can call by name. Each table stands at the end
// of the file with its functions.
#pragma once

#include "runtime/template/callable.hpp"

#include <span>

namespace troupe::jinja {

struct named_native {
  std::string_view name;
  native code = nullptr;
};

std::span<const named_native> text_filters();
std::span<const named_native> list_filters();
std::span<const named_native> picking_filters();
std::span<const named_native> scalar_filters();
std::span<const named_native> tests();
std::span<const named_native> functions();
std::span<const named_native> string_methods();
std::span<const named_native> mapping_methods();
std::span<const named_native> list_methods();
std::span<const named_native> loop_methods();

/// `x` by a path such as "function.name" or "0.id", as the `attribute` of
/// filters is written. `otherwise` stands for what is missing on the way.
result<value> attribute_of(const value& x, const value& path, budget& spent,
                           const value* otherwise = nullptr);

/// nullptr if `name` is in none of the tables.
native find_in(std::span<const named_native> table, std::string_view name);

} // namespace troupe::jinja
