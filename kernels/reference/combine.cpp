// The weighted sum of replies, one element after the other.
#include "kernels/reference/combine.hpp"

#include <cmath>

namespace troupe::kernels::reference {

void combine(const combine_options& options, activation_view pairs,
             matrix_view<const float> weights, matrix_view<float> y) {
  const size_t k = weights.cols;
  for (size_t r = 0; r < y.rows; ++r)
    for (size_t i = 0; i < y.cols; ++i) {
      float sum = 0.0f;
      for (size_t j = 0; j < k; ++j) {
        const std::byte* pair = pairs.row(r * k + j);
        const float x = pairs.type == dtype::f32
                          ? reinterpret_cast<const float*>(pair)[i]
                          : to_float(reinterpret_cast<const bf16*>(pair)[i]);
        sum = std::fma(weights.row(r)[j], x, sum);
      }
      float& out = y.row(r)[i];
      out = options.into == combine_into::add ? out + sum : sum;
    }
}

} // namespace troupe::kernels::reference
