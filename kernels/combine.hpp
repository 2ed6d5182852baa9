// The weighted sum of the experts' replies, in a fixed order whoever computed
// them: s = sum over j of weights[row][j] * pairs[row * k + j], one fused
// multiply-add each, j ascending, from 0.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::kernels {

/// What becomes of the sum s.
enum class combine_into : uint8_t {
  overwrite, ///< y = s
  add,       ///< y = y + s (residual, shared experts)
};

struct combine_options {
  combine_into into = combine_into::overwrite;
  kernels::isa isa = best_isa();
};

/// pairs: [rows * k, H] in the reply type (f32 or bf16), pair (row, j) at row *
/// k + j; weights: [rows, k]; y: [rows, H].
void combine(const combine_options& options, activation_view pairs,
             matrix_view<const float> weights, matrix_view<float> y,
             lanes& pool);

/// The same for replies that lie anywhere, each where its buffer came in:
/// pairs[row * k + j] points to [H] elements of `type`, aligned for it.
void combine(const combine_options& options,
             std::span<const std::byte* const> pairs, dtype type,
             matrix_view<const float> weights, matrix_view<float> y,
             lanes& pool);

} // namespace troupe::kernels
