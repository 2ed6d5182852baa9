// What a norm kernel gets, the same for every Highway target.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>

namespace troupe::kernels {

/// One row or head of `n` elements.
struct norm_job {
  const float* x = nullptr;
  const float* weight = nullptr;
  const float* other = nullptr; ///< The gate or the bias.
  size_t n = 0;
  float eps = 0.0f;
  dtype type = dtype::f32; ///< Of y, f32 or bf16.
  std::byte* y = nullptr;
};

} // namespace troupe::kernels
