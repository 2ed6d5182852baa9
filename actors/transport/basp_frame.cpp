// Bounds-checked reading of CAF's binary format.
#include "actors/transport/basp_frame.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::basp {

namespace {

template <class T>
T big_endian(std::span<const std::byte> bytes) {
  T x = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    x = static_cast<T>(static_cast<uint64_t>(x) << 8 |
                       std::to_integer<uint64_t>(bytes[i]));
  return x;
}

} // namespace

header read_header(std::span<const std::byte, header_size> bytes) {
  header x;
  x.op = std::to_integer<uint8_t>(bytes[0]);
  x.padding1 = std::to_integer<uint8_t>(bytes[1]);
  x.padding2 = std::to_integer<uint8_t>(bytes[2]);
  x.flags = std::to_integer<uint8_t>(bytes[3]);
  x.payload_size = big_endian<uint32_t>(bytes.subspan<4, 4>());
  x.data = big_endian<uint64_t>(bytes.subspan<8, 8>());
  x.source_actor = big_endian<uint64_t>(bytes.subspan<16, 8>());
  x.dest_actor = big_endian<uint64_t>(bytes.subspan<24, 8>());
  return x;
}

std::optional<std::span<const std::byte>> reader::take(size_t size) {
  if (size > rest_.size())
    return std::nullopt;
  auto result = rest_.first(size);
  rest_ = rest_.subspan(size);
  return result;
}

std::optional<uint8_t> reader::u8() {
  auto bytes = take(1);
  if (!bytes)
    return std::nullopt;
  return big_endian<uint8_t>(*bytes);
}

std::optional<uint16_t> reader::u16() {
  auto bytes = take(2);
  if (!bytes)
    return std::nullopt;
  return big_endian<uint16_t>(*bytes);
}

std::optional<uint64_t> reader::u64() {
  auto bytes = take(8);
  if (!bytes)
    return std::nullopt;
  return big_endian<uint64_t>(*bytes);
}

std::optional<uint32_t> reader::length() {
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    auto next = u8();
    if (!next)
      return std::nullopt;
    x |= static_cast<uint64_t>(*next & 0x7F) << shift;
    if ((*next & 0x80) == 0) {
      if (x > UINT32_MAX)
        return std::nullopt;
      return static_cast<uint32_t>(x);
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> reader::text(size_t max_size) {
  auto size = length();
  if (!size || *size > max_size)
    return std::nullopt;
  auto bytes = take(*size);
  if (!bytes)
    return std::nullopt;
  return std::string_view{reinterpret_cast<const char*>(bytes->data()),
                          bytes->size()};
}

std::optional<node_key> reader::node() {
  auto bytes = take(sizeof(node_key));
  if (!bytes)
    return std::nullopt;
  auto zero = [](std::byte x) { return x == std::byte{0}; };
  auto process = bytes->subspan(8, 4);
  auto host = bytes->subspan(12);
  if (big_endian<uint64_t>(bytes->first(8)) != atom_number("default") ||
      std::all_of(process.begin(), process.end(), zero) ||
      std::all_of(host.begin(), host.end(), zero))
    return std::nullopt;
  node_key result;
  std::copy(bytes->begin(), bytes->end(), result.begin());
  return result;
}

} // namespace troupe::basp
