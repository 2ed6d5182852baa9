// Norms, one element after the other.
#include "kernels/reference/norm.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/fold.hpp"

#include <cmath>

namespace troupe::kernels::reference {

namespace {

float rms_factor(std::span<const float> x, float eps) {
  partial_results squares{};
  for (size_t i = 0; i < x.size(); ++i)
    squares[i % 64] = std::fma(x[i], x[i], squares[i % 64]);
  const float mean = fold_sum(squares) / static_cast<float>(x.size());
  return 1.0f / std::sqrt(mean + eps);
}

void put(output_view y, size_t row, size_t at, float value) {
  if (y.type == dtype::f32)
    reinterpret_cast<float*>(y.row(row))[at] = value;
  else
    reinterpret_cast<bf16*>(y.row(row))[at] = to_bf16(value);
}

} // namespace

void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y) {
  const size_t n = weight.size();
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t head = 0; head < x.cols; head += n) {
      const float factor = rms_factor({x.row(r) + head, n}, options.eps);
      for (size_t i = 0; i < n; ++i)
        put(y, r, head + i, x.row(r)[head + i] * factor * weight[i]);
    }
}

void rms_norm_gated(const norm_options& options, const gated_norm_input& input,
                    std::span<const float> weight, output_view y) {
  const auto& x = input.x;
  const size_t n = weight.size();
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t head = 0; head < x.cols; head += n) {
      const float factor = rms_factor({x.row(r) + head, n}, options.eps);
      for (size_t i = 0; i < n; ++i) {
        const float normed = x.row(r)[head + i] * factor * weight[i];
        put(y, r, head + i, normed * silu_f32(input.gate.row(r)[head + i]));
      }
    }
}

void layer_norm(const norm_options& options, matrix_view<const float> x,
                const norm_affine& affine, output_view y) {
  const auto n = static_cast<float>(x.cols);
  for (size_t r = 0; r < x.rows; ++r) {
    const float* row = x.row(r);
    partial_results sums{}, squares{};
    for (size_t i = 0; i < x.cols; ++i)
      sums[i % 64] += row[i];
    const float mean = fold_sum(sums) / n;
    for (size_t i = 0; i < x.cols; ++i) {
      const float off = row[i] - mean;
      squares[i % 64] = std::fma(off, off, squares[i % 64]);
    }
    const float variance = fold_sum(squares) / n;
    const float factor = 1.0f / std::sqrt(variance + options.eps);
    for (size_t i = 0; i < x.cols; ++i)
      put(y, r, i,
          std::fma((row[i] - mean) * factor, affine.weight[i], affine.bias[i]));
  }
}

} // namespace troupe::kernels::reference
