// Attention, one query head, one position, one element after the other.
#include "kernels/reference/attention.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/fold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::kernels::reference {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Reads keys and values of one KV head out of the cache.
struct head_reader {
  const kv_layout& layout;
  const attention_row& row;
  size_t kv_head;

  float at(size_t position, size_t offset, size_t index) const {
    const std::byte* data =
      row.cache.block(position / kv_block_tokens) + offset;
    return layout.type == dtype::f32
             ? reinterpret_cast<const float*>(data)[index]
             : to_float(reinterpret_cast<const bf16*>(data)[index]);
  }
  float key(size_t position, size_t d) const {
    return at(position, layout.key_offset(kv_head),
              d * kv_block_tokens + position % kv_block_tokens);
  }
  float value(size_t position, size_t d) const {
    return at(position, layout.value_offset(kv_head),
              position % kv_block_tokens * layout.value_stride() + d);
  }
};

/// What one query head has seen so far.
struct running_softmax {
  float maximum = -infinity;
  float sum = 0.0f;
  std::vector<float> output;
};

void attend_block(const head_reader& cache, std::span<const float> query,
                  size_t base, running_softmax& state) {
  const size_t limit = std::min(kv_block_tokens, cache.row.position + 1 - base);
  partial_results scores;
  scores.fill(-infinity);
  for (size_t p = 0; p < limit; ++p) {
    scores[p] = 0.0f;
    for (size_t d = 0; d < query.size(); ++d)
      scores[p] = std::fma(query[d], cache.key(base + p, d), scores[p]);
  }
  const float block = fold_max(scores);
  const float maximum = state.maximum > block ? state.maximum : block;
  const float factor = exp_f32(state.maximum - maximum);
  state.maximum = maximum;
  for (float& score : scores)
    score = exp_f32(score - maximum);
  state.sum = std::fma(state.sum, factor, fold_sum(scores));
  for (size_t d = 0; d < query.size(); ++d) {
    float y = state.output[d] * factor;
    for (size_t p = 0; p < limit; ++p)
      y = std::fma(scores[p], cache.value(base + p, d), y);
    state.output[d] = y;
  }
}

} // namespace

void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out) {
  const size_t dim = options.layout.head_dim;
  const size_t group = options.heads / options.layout.kv_heads;
  std::vector<float> query(dim);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t head = 0; head < options.heads; ++head) {
      for (size_t d = 0; d < dim; ++d)
        query[d] = q.row(r)[head * dim + d] * options.scale;
      running_softmax state{-infinity, 0.0f, std::vector<float>(dim)};
      const head_reader cache{options.layout, rows[r], head / group};
      for (size_t base = 0; base <= rows[r].position; base += kv_block_tokens)
        attend_block(cache, query, base, state);
      for (size_t d = 0; d < dim; ++d) {
        const float y = state.output[d] / state.sum;
        if (out.type == dtype::f32)
          reinterpret_cast<float*>(out.row(r))[head * dim + d] = y;
        else
          reinterpret_cast<bf16*>(out.row(r))[head * dim + d] = to_bf16(y);
      }
    }
}

std::vector<double> attention_f64(const attention_options& options,
                                  std::span<const attention_row> rows,
                                  matrix_view<const float> q) {
  const size_t dim = options.layout.head_dim;
  const size_t group = options.heads / options.layout.kv_heads;
  std::vector<double> out(rows.size() * q.cols);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t head = 0; head < options.heads; ++head) {
      const head_reader cache{options.layout, rows[r], head / group};
      std::vector<double> scores(rows[r].position + 1);
      for (size_t p = 0; p < scores.size(); ++p) {
        for (size_t d = 0; d < dim; ++d)
          scores[p] += double{q.row(r)[head * dim + d]} * cache.key(p, d);
        scores[p] *= options.scale;
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      double* y = out.data() + r * q.cols + head * dim;
      for (size_t p = 0; p < scores.size(); ++p) {
        const double weight = std::exp(scores[p] - top);
        sum += weight;
        for (size_t d = 0; d < dim; ++d)
          y[d] += weight * cache.value(p, d);
      }
      for (size_t d = 0; d < dim; ++d)
        y[d] /= sum;
    }
  return out;
}

} // namespace troupe::kernels::reference
