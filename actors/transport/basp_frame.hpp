// The layout of the frames CAF 0.17.6 exchanges (BASP 3), as far as the guard
// has to read it. A frame is a header of 32 bytes and `payload_size` bytes:
//   u8 op, u8 0, u8 0, u8 flags, u32 payload size, u64 data, u64 source actor,
//   u64 destination actor                                     (all big endian)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace troupe::basp {

inline constexpr size_t header_size = 32;

enum class op : uint8_t {
  server_handshake = 0,
  client_handshake = 1,
  direct_message = 2,
  routed_message = 3,
  monitor_message = 4,
  down_message = 5,
  heartbeat = 6,
};

inline constexpr uint8_t named_receiver_flag = 0x01;
inline constexpr uint8_t select_connection_flag = 0x02;
/// The version in a server handshake's data field.
inline constexpr uint64_t version = 3;

struct header {
  uint8_t op = 0;
  uint8_t padding1 = 0;
  uint8_t padding2 = 0;
  uint8_t flags = 0;
  uint32_t payload_size = 0;
  uint64_t data = 0;
  uint64_t source_actor = 0;
  uint64_t dest_actor = 0;
};

/// Reads a header; checks nothing.
header read_header(std::span<const std::byte, header_size> bytes);

/// Encoded id of a node: u64 atom "default", u32 process id, 20 bytes host.
using node_key = std::array<std::byte, 32>;

/// The number CAF makes of an atom: 6 bits a character, at most 10 characters
/// of [0-9A-Za-z_ ].
constexpr uint64_t atom_number(std::string_view text) {
  uint64_t x = 0xF;
  for (char c : text) {
    uint64_t code = 0;
    if (c >= '0' && c <= '9')
      code = static_cast<uint64_t>(c - '0') + 1;
    else if (c >= 'A' && c <= 'Z')
      code = static_cast<uint64_t>(c - 'A') + 11;
    else if (c == '_')
      code = 37;
    else if (c >= 'a' && c <= 'z')
      code = static_cast<uint64_t>(c - 'a') + 38;
    x = x << 6 | code;
  }
  return x;
}

/// Reads a payload from front to back; every read is checked against its end.
class reader {
public:
  explicit reader(std::span<const std::byte> bytes) : rest_(bytes) {
    // nop
  }

  std::optional<uint8_t> u8();
  std::optional<uint16_t> u16();
  std::optional<uint64_t> u64();

  /// Reads the length of a sequence (7 bits a byte, low bits first, at most 5
  /// bytes).
  std::optional<uint32_t> length();

  /// Reads a text of at most `max_size` bytes.
  std::optional<std::string_view> text(size_t max_size);

  /// Reads a node id that a program of ours can have: kind "default", process
  /// id and host not zero.
  std::optional<node_key> node();

  size_t remaining() const {
    return rest_.size();
  }

private:
  std::optional<std::span<const std::byte>> take(size_t size);

  std::span<const std::byte> rest_;
};

} // namespace troupe::basp
