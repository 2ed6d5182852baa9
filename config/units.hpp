// Numbers with units, as files and the command line write them.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A number of bytes, written "64MiB", "2GiB", "512KiB" or "4096".
struct byte_size {
  uint64_t bytes = 0;
  auto operator<=>(const byte_size&) const = default;
};

/// Parses "250us", "20ms", "1.5s" or "2min"; nullopt for anything else,
/// negative and absurdly large (over ten years) values included.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);

/// Parses a whole number with an optional unit B, KiB, MiB, GiB or TiB;
/// nullopt for anything else and beyond 2^62.
std::optional<byte_size> parse_byte_size(std::string_view text);

/// The shortest exact form: "1500ms", "64MiB".
std::string to_string(std::chrono::microseconds x);
std::string to_string(byte_size x);

} // namespace troupe
