// The first thing two processes tell each other, and the check both make.
// The envelope's layout never changes, so that a peer of any other version is
// refused by name: 6 bytes "TROUPE", u16 protocol version, u8 length and text
// of the program's version, u32 length of the body, body (layout by protocol
// version). All integers little endian.
#pragma once

#include "runtime/error.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// Version of the messages between head and node. Raised by every change that
/// an older program would misread.
inline constexpr uint16_t protocol_version = 2;

/// What a process can hold and compute.
struct peer_capacity {
  uint64_t memory_bytes = 0; ///< Memory it offers for experts.
  uint32_t lanes = 0;        ///< Compute threads.

  friend bool operator==(const peer_capacity&, const peer_capacity&) = default;
};

/// Who a process is and what it computes with.
struct hello {
  uint16_t protocol = protocol_version;
  std::string program_version; ///< E.g. "0.1.0"; at most 32 bytes.
  uint32_t endianness = 0;     ///< `native_endianness()` of the sender.
  std::array<uint8_t, 32> model_digest{}; ///< Of the checkpoint in use.
  std::string model_name;                 ///< For messages; at most 256 bytes.
  uint64_t numeric_fingerprint = 0;       ///< Of the kernels' numerics.
  std::string numeric_mode;               ///< "f32" or "bf16".
  std::array<uint8_t, 24> incarnation{};  ///< Random per process start.
  std::string node_name;                  ///< 1 to 64 bytes of [A-Za-z0-9._-].
  peer_capacity capacity;

  friend bool operator==(const hello&, const hello&) = default;
};

/// Returns 0x01020304 as this machine writes it, read as little endian.
uint32_t native_endianness();

/// Encodes `x` with its envelope.
std::vector<std::byte> encode(const hello& x);

/// Decodes an envelope from a peer. A foreign version is an error of its own
/// (ec::protocol_mismatch) that names both versions; everything else that is
/// not exactly what `encode` writes is ec::bad_format.
result<hello> decode_hello(std::span<const std::byte> bytes);

/// Returns whether the two may work together: same protocol, byte order, model,
/// numeric mode and fingerprint, and a valid node name. The message says what
/// differs, both values, and what to do.
result<void> check_hello(const hello& mine, const hello& theirs);

} // namespace troupe
