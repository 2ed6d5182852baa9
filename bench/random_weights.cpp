#include "bench/random_weights.hpp"

#include <bit>
#include <cmath>

namespace troupe::bench {

namespace {

/// One step of the splitmix64 generator: `state` counts, the result is mixed.
uint64_t next(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// FNV-1a over the tensor's name.
uint64_t hash(std::string_view text) {
  uint64_t result = 0xcbf29ce484222325u;
  for (const char c : text)
    result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return result;
}

} // namespace

uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::vector<uint16_t> random_bf16(uint64_t seed, std::string_view tensor,
                                  std::size_t count, float deviation) {
  // Four 16-bit uniforms have variance 4/12 of 65536 squared.
  const float scale = deviation / (65536.0f * std::sqrt(4.0f / 12.0f));
  uint64_t state = seed ^ hash(tensor);
  std::vector<uint16_t> result(count);
  for (auto& value : result) {
    const uint64_t x = next(state);
    const auto sum =
      static_cast<int32_t>((x & 0xffffu) + ((x >> 16) & 0xffffu) +
                           ((x >> 32) & 0xffffu) + (x >> 48));
    value = to_bf16(static_cast<float>(sum - 2 * 65535) * scale);
  }
  return result;
}

} // namespace troupe::bench
