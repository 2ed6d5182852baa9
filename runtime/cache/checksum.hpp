// Checksum of stored blocks. Its definition is part of the file format:
//   the bytes, padded with zeros to whole words of 8 bytes, are dealt to four
//   streams in turn, word i to stream i mod 4; each stream has a CRC32C
//   (Castagnoli: reflected polynomial 0x82f63b78, from ~0, inverted at the
//   end).
// Four streams, because the CPU's instruction then runs as fast as memory.
// The length is not part of it: it is known from elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

using checksum = std::array<uint32_t, 4>;

/// The checksum of `bytes`, by the CPU's CRC32 instruction where it has one.
checksum checksum_of(std::span<const std::byte> bytes);

/// The same by its definition, bit by bit: what `checksum_of` is tested with,
/// and what CPUs without the instruction use.
checksum checksum_by_definition(std::span<const std::byte> bytes);

} // namespace troupe
