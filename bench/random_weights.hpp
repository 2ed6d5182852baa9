// Random bf16 weights that depend on a seed and the tensor's name alone, so
// that two file formats written one after the other hold the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::bench {

/// Rounds to the nearest bf16, ties to even. `x` is finite.
uint16_t to_bf16(float x);

/// Returns `count` bf16 values, about normally distributed with mean 0 and the
/// given standard deviation (the sum of four uniform numbers: no value is
/// further than 3.5 deviations out).
std::vector<uint16_t> random_bf16(uint64_t seed, std::string_view tensor,
                                  std::size_t count, float deviation);

} // namespace troupe::bench
