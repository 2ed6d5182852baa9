// What a gated delta kernel gets, the same for every Highway target.
#pragma once

#include "kernels/gated_delta.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>

namespace troupe::kernels {

/// Added to a sum of squares before its root.
inline constexpr float delta_norm_eps = 1e-6f;

/// Rows whose keys, queries and gates are prepared together.
inline constexpr size_t delta_rows = 16;

/// One head of one run.
struct delta_job {
  matrix_view<const float> q, k; ///< [rows, key_dim]
  matrix_view<const float> v;    ///< [rows, value_dim]
  matrix_view<const float> a, b; ///< [rows, 1]
  matrix_view<float> y;          ///< [rows, value_dim]
  float a_log = 0;
  float dt_bias = 0;
  const float* state_in = nullptr; ///< [blocks, key_dim, delta_cols]
  float* state_out = nullptr;
  size_t key_dim = 0;       ///< Padded.
  float* scratch = nullptr; ///< delta_scratch(key_dim) elements.
};

/// Prepared keys, queries and gates.
constexpr size_t delta_scratch(size_t padded_key_dim) {
  return 2 * delta_rows * (padded_key_dim + 1);
}

} // namespace troupe::kernels
