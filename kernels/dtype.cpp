// The traits table and its look-ups.
#include "kernels/dtype.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>

namespace troupe::kernels {

namespace {

constexpr std::array table{
  dtype_traits{dtype::f32, "F32", 4, true},
  dtype_traits{dtype::bf16, "BF16", 2, true},
  dtype_traits{dtype::f16, "F16", 2, true},
  dtype_traits{dtype::f64, "F64", 8, true},
  dtype_traits{dtype::f8_e4m3, "F8_E4M3", 1, true},
  dtype_traits{dtype::f8_e5m2, "F8_E5M2", 1, true},
  dtype_traits{dtype::i8, "I8", 1, false},
  dtype_traits{dtype::i16, "I16", 2, false},
  dtype_traits{dtype::i32, "I32", 4, false},
  dtype_traits{dtype::i64, "I64", 8, false},
  dtype_traits{dtype::u8, "U8", 1, false},
  dtype_traits{dtype::u16, "U16", 2, false},
  dtype_traits{dtype::u32, "U32", 4, false},
  dtype_traits{dtype::u64, "U64", 8, false},
  dtype_traits{dtype::boolean, "BOOL", 1, false},
};

constexpr bool table_is_indexed_by_type() {
  for (size_t i = 0; i < table.size(); ++i)
    if (static_cast<size_t>(table[i].type) != i)
      return false;
  return table.size() == static_cast<size_t>(dtype::boolean) + 1;
}

static_assert(table_is_indexed_by_type());

} // namespace

const dtype_traits& traits_of(dtype type) {
  const auto index = static_cast<size_t>(type);
  TROUPE_ASSERT(index < table.size());
  return table[index];
}

std::string_view to_string(dtype type) {
  return traits_of(type).name;
}

std::optional<dtype> dtype_from_name(std::string_view name) {
  const auto found = std::ranges::find(table, name, &dtype_traits::name);
  if (found == table.end())
    return std::nullopt;
  return found->type;
}

size_t size_of(dtype type) {
  return traits_of(type).size;
}

} // namespace troupe::kernels
