// The recurrence, one row, head and column after the other.
#include "kernels/reference/gated_delta.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/fold.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace troupe::kernels::reference {

namespace {

std::vector<float> unit_vector(std::span<const float> x, float scale) {
  partial_results squares{};
  for (size_t i = 0; i < x.size(); ++i)
    squares[i % 64] = std::fma(x[i], x[i], squares[i % 64]);
  const float factor = 1.0f / std::sqrt(fold_sum(squares) + 1e-6f);
  std::vector<float> y;
  for (const float v : x)
    y.push_back(v * factor * scale);
  return y;
}

using state_column = std::vector<float*>; ///< [key_dim], a column of S.

float product(std::span<const float> x, const state_column& column) {
  std::array<float, 4> sums{};
  for (size_t i = 0; i < x.size(); ++i)
    sums[i % 4] = std::fma(x[i], *column[i], sums[i % 4]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// One row through the S of one head of `state`.
void pass_row(const gated_delta_options& options,
              const gated_delta_input& input, size_t row, size_t head,
              std::span<float> state, float* y) {
  const size_t dk = options.key_dim, dv = options.value_dim;
  const size_t key_head = head / (options.value_heads / options.key_heads);
  const float scale = 1.0f / std::sqrt(static_cast<float>(dk));
  const auto k = unit_vector({input.k.row(row) + key_head * dk, dk}, 1.0f);
  const auto q = unit_vector({input.q.row(row) + key_head * dk, dk}, scale);
  const float step =
    softplus_f32(input.a.row(row)[head] + options.dt_bias[head]);
  const float decay = exp_f32(-exp_f32(options.a_log[head]) * step);
  const float beta = sigmoid_f32(input.b.row(row)[head]);
  for (size_t j = 0; j < dv; ++j) {
    state_column column;
    for (size_t i = 0; i < dk; ++i)
      column.push_back(&state[options.state_at(head, i, j)]);
    const float recalled = decay * product(k, column);
    const float change = (input.v.row(row)[head * dv + j] - recalled) * beta;
    for (size_t i = 0; i < dk; ++i)
      *column[i] = std::fma(k[i], change, *column[i] * decay);
    y[head * dv + j] = product(q, column);
  }
}

} // namespace

void gated_delta(const gated_delta_options& options,
                 const gated_delta_input& input,
                 std::span<const sequence_run> runs, matrix_view<float> y) {
  size_t first = 0;
  for (const auto& run : runs) {
    std::copy(run.state_in.begin(), run.state_in.end(), run.state_out.begin());
    for (size_t t = 0; t < run.rows; ++t)
      for (size_t head = 0; head < options.value_heads; ++head)
        pass_row(options, input, first + t, head, run.state_out,
                 y.row(first + t));
    first += run.rows;
  }
}

} // namespace troupe::kernels::reference
