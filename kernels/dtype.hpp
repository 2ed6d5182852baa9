// Element types of tensors: one traits table, and bf16 <-> f32.
// The kernels compute with f32 and bf16 only; the other types name what
// checkpoint files hold.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::kernels {

enum class dtype : uint8_t {
  f32,
  bf16,
  f16,
  f64,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
};

/// One row of the traits table.
struct dtype_traits {
  dtype type;
  std::string_view name; ///< As in a safetensors header, e.g. "BF16".
  size_t size;           ///< Bytes of one element.
  bool is_float;
};

/// All types, in the order of the enum.
inline constexpr std::array dtype_table{
  dtype_traits{dtype::f32, "F32", 4, true},
  dtype_traits{dtype::bf16, "BF16", 2, true},
  dtype_traits{dtype::f16, "F16", 2, true},
  dtype_traits{dtype::f64, "F64", 8, true},
  dtype_traits{dtype::f8_e4m3, "F8_E4M3", 1, true},
  dtype_traits{dtype::f8_e5m2, "F8_E5M2", 1, true},
  dtype_traits{dtype::f8_e8m0, "F8_E8M0", 1, true},
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

/// Returns the table's row of `type`.
constexpr const dtype_traits& traits_of(dtype type) {
  return dtype_table[static_cast<size_t>(type)];
}

/// Returns the safetensors name of `type`, e.g. "F8_E4M3".
std::string_view to_string(dtype type);

/// Returns the type with this safetensors name, or nothing.
std::optional<dtype> dtype_from_name(std::string_view name);

/// Returns the bytes of one element.
constexpr size_t size_of(dtype type) {
  return traits_of(type).size;
}

/// A bfloat16: the upper half of an f32.
struct bf16 {
  uint16_t bits = 0;

  friend bool operator==(const bf16&, const bf16&) = default;
};

static_assert(sizeof(bf16) == 2);

/// Returns the exact f32 value of `x`.
inline float to_float(bf16 x) {
  return std::bit_cast<float>(uint32_t{x.bits} << 16);
}

/// Rounds to nearest, ties to even. A NaN stays a (quiet) NaN.
inline bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return bf16{static_cast<uint16_t>((bits >> 16) | 0x40u)};
  const uint32_t to_even = 0x7fffu + ((bits >> 16) & 1u);
  return bf16{static_cast<uint16_t>((bits + to_even) >> 16)};
}

/// The traits of a C++ element type: `dtype_of<bf16>`, `dtype_of<float>`.
template <class T>
inline constexpr dtype dtype_of = T::not_an_element_type;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<bf16> = dtype::bf16;

} // namespace troupe::kernels
