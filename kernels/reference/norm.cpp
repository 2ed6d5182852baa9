// RMS norm, one element after the other.
#include "kernels/reference/norm.hpp"

#include "kernels/reference/fold.hpp"

#include <cmath>

namespace troupe::kernels::reference {

void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y) {
  const size_t n = weight.size();
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t head = 0; head < x.cols; head += n) {
      partial_results squares{};
      for (size_t i = 0; i < n; ++i) {
        const float a = x.row(r)[head + i];
        squares[i % 64] = std::fma(a, a, squares[i % 64]);
      }
      const float mean = fold_sum(squares) / static_cast<float>(n);
      const float factor = 1.0f / std::sqrt(mean + options.eps);
      for (size_t i = 0; i < n; ++i) {
        const float z = x.row(r)[head + i] * factor * weight[i];
        if (y.type == dtype::f32)
          reinterpret_cast<float*>(y.row(r))[head + i] = z;
        else
          reinterpret_cast<bf16*>(y.row(r))[head + i] = to_bf16(z);
      }
    }
}

} // namespace troupe::kernels::reference
