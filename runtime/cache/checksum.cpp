#include "runtime/cache/checksum.hpp"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

namespace troupe {

namespace {

constexpr size_t word_bytes = 8;
constexpr size_t streams = 4;

/// The word at byte `begin`, zeros beyond the end.
uint64_t word_at(std::span<const std::byte> bytes, size_t begin) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + begin,
              std::min(word_bytes, bytes.size() - begin));
  return word;
}

__attribute__((target("sse4.2"))) checksum
by_instruction(std::span<const std::byte> bytes) {
  uint64_t crc[streams] = {~0U, ~0U, ~0U, ~0U};
  constexpr size_t step = streams * word_bytes;
  size_t at = 0;
  for (; at + step <= bytes.size(); at += step) {
    uint64_t words[streams];
    std::memcpy(words, bytes.data() + at, step);
    crc[0] = _mm_crc32_u64(crc[0], words[0]);
    crc[1] = _mm_crc32_u64(crc[1], words[1]);
    crc[2] = _mm_crc32_u64(crc[2], words[2]);
    crc[3] = _mm_crc32_u64(crc[3], words[3]);
  }
  for (size_t i = 0; at < bytes.size(); ++i, at += word_bytes)
    crc[i] = _mm_crc32_u64(crc[i], word_at(bytes, at));
  checksum out;
  for (size_t i = 0; i < streams; ++i)
    out[i] = ~static_cast<uint32_t>(crc[i]);
  return out;
}

} // namespace

checksum checksum_of(std::span<const std::byte> bytes) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? by_instruction(bytes)
                         : checksum_by_definition(bytes);
}

checksum checksum_by_definition(std::span<const std::byte> bytes) {
  checksum crc;
  crc.fill(~0U);
  for (size_t at = 0; at < bytes.size(); at += word_bytes) {
    auto& x = crc[at / word_bytes % streams];
    const uint64_t word = word_at(bytes, at);
    for (size_t bit = 0; bit < 64; ++bit) {
      const bool differs = ((x ^ (word >> bit)) & 1U) != 0;
      x = (x >> 1U) ^ (differs ? 0x82f63b78U : 0U);
    }
  }
  for (auto& x : crc)
    x = ~x;
  return crc;
}

} // namespace troupe
