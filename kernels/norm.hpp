// Root-mean-square norms of rows and of heads.
// The sum of squares runs over 64 partial sums, element i into sum i mod 64
// with one fused multiply-add, then a tree of halves: the same bits for every
// vector width.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <span>

namespace troupe::kernels {

struct norm_options {
  float eps = 1e-6f; ///< Added to the mean of squares.
  kernels::isa isa = best_isa();
};

/// y[r] = (x[r] * (1 / sqrt(mean(x[r]^2) + eps))) * weight, rounded to the type
/// of `y` (f32 or bf16). x, y: [rows, weight.size()]; y may be x.
void rms_norm(const norm_options& options, matrix_view<const float> x,
              std::span<const float> weight, output_view y, lanes& pool);

/// The same for every head on its own (QK norm): x, y: [rows, heads *
/// weight.size()].
void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y, lanes& pool);

} // namespace troupe::kernels
