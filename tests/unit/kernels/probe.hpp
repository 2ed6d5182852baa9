// Random inputs and bit comparisons for the tests of the kernels.
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/isa.hpp"
#include "kernels/tensor.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace troupe::kernels::test {

/// The ISAs this machine can run.
inline std::vector<isa> all_isas() {
  std::vector<isa> all;
  for (const auto level : {isa::scalar, isa::avx2, isa::avx512, isa::amx})
    if (supported(level))
      all.push_back(level);
  return all;
}

/// Normally distributed values.
inline std::vector<float> random_floats(size_t count, uint64_t seed,
                                        float scale = 1.0f) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (auto& value : values)
    value = normal(random);
  return values;
}

inline std::vector<bf16> random_bf16(size_t count, uint64_t seed,
                                     float scale = 1.0f) {
  std::vector<bf16> values;
  for (const float value : random_floats(count, seed, scale))
    values.push_back(to_bf16(value));
  return values;
}

/// Returns whether all bits agree; any NaN equals any NaN.
inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

} // namespace troupe::kernels::test
