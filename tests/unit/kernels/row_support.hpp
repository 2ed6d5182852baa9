// What the tests of the row kernels share: random rows from a printed seed,
// views of vectors, and counts of differing bits.
#pragma once

#include "kernels/tensor.hpp"
#include "probe.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <vector>

namespace troupe::kernels::test {

/// Random numbers from a seed that is printed.
class random_rows {
public:
  explicit random_rows(uint32_t seed) : engine_(seed) {
    std::cout << "seed " << seed << '\n';
  }

  std::vector<float> normal(size_t n, float deviation = 1.0f) {
    std::normal_distribution<float> distribution(0.0f, deviation);
    std::vector<float> x(n);
    for (float& v : x)
      v = distribution(engine_);
    return x;
  }

  size_t below(size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(engine_);
  }

private:
  std::mt19937 engine_;
};

inline matrix_view<float> rows_of(std::vector<float>& x, size_t cols) {
  return {x.data(), x.size() / cols, cols, cols};
}

inline matrix_view<const float> rows_of(const std::vector<float>& x,
                                        size_t cols) {
  return {x.data(), x.size() / cols, cols, cols};
}

inline std::vector<bf16> rounded(std::span<const float> x) {
  std::vector<bf16> y;
  for (const float v : x)
    y.push_back(to_bf16(v));
  return y;
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (a != a && b != b);
}

inline bool same_bits(bf16 a, bf16 b) {
  return same_bits(to_float(a), to_float(b));
}

/// Number of elements whose bits differ; any NaN equals any other.
template <class T>
size_t differing(std::span<const T> a, std::span<const T> b) {
  BOOST_REQUIRE(a.size() == b.size());
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i]))
      ++count;
  return count;
}

template <class T>
size_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  return differing(std::span<const T>(a), std::span<const T>(b));
}

} // namespace troupe::kernels::test
