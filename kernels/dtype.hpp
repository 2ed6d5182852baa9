// Element types of tensors: one traits table, and bf16 <-> f32.
// The kernels compute with f32 and bf16 only; the other types name what
// checkpoint files hold.
#pragma once

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

/// Returns the table's row of `type`.
const dtype_traits& traits_of(dtype type);

/// Returns the safetensors name of `type`, e.g. "F8_E4M3".
std::string_view to_string(dtype type);

/// Returns the type with this safetensors name, or nothing.
std::optional<dtype> dtype_from_name(std::string_view name);

/// Returns the bytes of one element.
size_t size_of(dtype type);

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
