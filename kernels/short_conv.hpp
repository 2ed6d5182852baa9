// Short causal convolution of each channel along a sequence. The state of a
// sequence is its last `kernel - 1` inputs, so one row at a time gives the bits
// of many rows:
//
//   state: [x(t-3) x(t-2) x(t-1)]  + row x(t)  ->  y(t), state [x(t-2) .. x(t)]
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/sequence_run.hpp"
#include "kernels/tensor.hpp"

#include <cstdint>
#include <span>

namespace troupe::kernels {

/// What happens to a sum of the convolution.
enum class conv_activation : uint8_t { none, silu };

/// Taps of a convolution that is accepted: 1 to this many.
inline constexpr size_t conv_taps_max = 16;

struct short_conv_options {
  /// [kernel, channels], the tap of the oldest input first: the transpose of a
  /// checkpoint's [channels, 1, kernel].
  matrix_view<const float> taps;
  std::span<const float> bias = {}; ///< [channels], or empty.
  conv_activation activation = conv_activation::none;
  kernels::isa isa = best_isa();

  /// Elements of a sequence's state, [kernel - 1, channels], oldest row first.
  /// All zero before the first token.
  size_t state_size() const {
    return (taps.rows - 1) * taps.cols;
  }
};

/// y(t) = f(bias + sum over j of taps[j] * x(t - kernel + 1 + j)), from the
/// bias (or 0) on by fused multiply-adds, j ascending. x, y: [rows, channels],
/// no overlap; `runs` cut the rows into sequences.
void short_conv(const short_conv_options& options, matrix_view<const float> x,
                std::span<const sequence_run> runs, matrix_view<float> y,
                lanes& pool);

} // namespace troupe::kernels
