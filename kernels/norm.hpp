// Root-mean-square norms of rows and of heads, and the norm that takes off the
// mean.
// A sum runs over 64 partial sums, element i into sum i mod 64 (squares with
// one fused multiply-add), then a tree of halves: the same bits for every
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

/// Rows of equal shape; the second ones go through a function and scale the
/// first.
struct gated_norm_input {
  matrix_view<const float> x;
  matrix_view<const float> gate;
};

/// What a layer norm does at the end, element by element.
struct norm_affine {
  std::span<const float> weight;
  std::span<const float> bias; ///< As long as the weight.
};

/// y[r] = (x[r] * (1 / sqrt(mean(x[r]^2) + eps))) * weight, rounded to the type
/// of `y` (f32 or bf16). x, y: [rows, weight.size()]; y may be x.
void rms_norm(const norm_options& options, matrix_view<const float> x,
              std::span<const float> weight, output_view y, lanes& pool);

/// The same for every head on its own (QK norm): x, y: [rows, heads *
/// weight.size()]. A weight of ones leaves the bits of the norm alone.
void rms_norm_heads(const norm_options& options, matrix_view<const float> x,
                    std::span<const float> weight, output_view y, lanes& pool);

/// As rms_norm_heads, then y = y * silu(gate), both in f32 before y is rounded.
/// y may be x.
void rms_norm_gated(const norm_options& options, const gated_norm_input& input,
                    std::span<const float> weight, output_view y, lanes& pool);

/// m = mean(x[r]), v = mean((x[r] - m)^2), z = (x[r] - m) * (1 / sqrt(v +
/// eps)); y[r] = fma(z, weight, bias), rounded to the type of `y` (f32 or
/// bf16). x, y: [rows, weight.size()]; y may be x.
void layer_norm(const norm_options& options, matrix_view<const float> x,
                const norm_affine& affine, output_view y, lanes& pool);

} // namespace troupe::kernels
