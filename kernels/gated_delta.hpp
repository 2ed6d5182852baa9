// The gated delta rule (Yang et al., 2025, "Gated Delta Networks"): linear
// attention whose state is a matrix S [key_dim, value_dim] for each value head.
// One form serves prompts and single tokens: for each row, in order,
//
//   k, q      x * (1 / sqrt(sum x^2 + 1e-6)), q also * 1 / sqrt(key_dim)
//   decay     exp(-exp(a_log) * softplus(a + dt_bias))
//   d         (v - decay * (k S)) * sigmoid(b)
//   S         fma(k, d, S * decay)
//   y         q S
//
// A sum of squares has 64 partial sums, as in a norm; k S and q S have four,
// element i in sum i mod 4, added as (0 + 1) + (2 + 3), all by fused
// multiply-adds. Value heads share the key heads evenly, neighbours first.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "kernels/sequence_run.hpp"
#include "kernels/tensor.hpp"

#include <span>

namespace troupe::kernels {

/// Columns of a state that lie together: with 128 rows they stay in the
/// first-level cache.
inline constexpr size_t delta_cols = 32;

/// Partial sums of k S and q S.
inline constexpr size_t delta_chains = 4;

struct gated_delta_options {
  size_t key_heads = 0;
  size_t value_heads = 0;         ///< A multiple of `key_heads`.
  size_t key_dim = 0;             ///< Of one head.
  size_t value_dim = 0;           ///< Of one head.
  std::span<const float> a_log;   ///< [value_heads]
  std::span<const float> dt_bias; ///< [value_heads]
  kernels::isa isa = best_isa();

  /// Rows of a head's S with those that fill up the last chain.
  size_t padded_key_dim() const {
    return (key_dim + delta_chains - 1) / delta_chains * delta_chains;
  }

  /// Elements of one head's S, [blocks of columns, padded_key_dim, delta_cols].
  size_t head_state_size() const {
    return (value_dim + delta_cols - 1) / delta_cols * delta_cols *
           padded_key_dim();
  }

  /// Elements of a sequence's state, the heads one after the other. All zero
  /// before the first token; what no S uses stays zero.
  size_t state_size() const {
    return value_heads * head_state_size();
  }

  /// Index of S[i][j] of a head in a state.
  size_t state_at(size_t head, size_t i, size_t j) const {
    return head * head_state_size() +
           (j / delta_cols * padded_key_dim() + i) * delta_cols +
           j % delta_cols;
  }
};

/// Projections of the rows, each after its convolution where it has one.
struct gated_delta_input {
  matrix_view<const float> q; ///< [rows, key_heads * key_dim]
  matrix_view<const float> k; ///< [rows, key_heads * key_dim]
  matrix_view<const float> v; ///< [rows, value_heads * value_dim]
  matrix_view<const float> a; ///< [rows, value_heads], for the decay.
  matrix_view<const float> b; ///< [rows, value_heads], for the update.
};

/// y: [rows, value_heads * value_dim], no overlap with the input; `runs` cut
/// the rows into sequences.
void gated_delta(const gated_delta_options& options,
                 const gated_delta_input& input,
                 std::span<const sequence_run> runs, matrix_view<float> y,
                 lanes& pool);

} // namespace troupe::kernels
