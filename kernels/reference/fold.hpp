// The order of every reduction in the row kernels: 64 partial results, element
// i into partial i mod 64, then a tree of halves.
#pragma once

#include <array>
#include <cstddef>

namespace troupe::kernels::reference {

using partial_results = std::array<float, 64>;

/// Folds lane j + 32 into lane j, then j + 16, ... + 1.
template <class F>
float fold(partial_results p, F both) {
  for (size_t half = p.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      p[i] = both(p[i], p[i + half]);
  return p[0];
}

inline float fold_sum(const partial_results& p) {
  return fold(p, [](float a, float b) { return a + b; });
}

inline float fold_max(const partial_results& p) {
  return fold(p, [](float a, float b) { return a > b ? a : b; });
}

} // namespace troupe::kernels::reference
