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
    if (layout.values == kv_values::leading_keys)
      return key(position, d);
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

/// One query head of one row.
struct head_query {
  const attention_options& options;
  head_reader cache;
  std::vector<float> query; ///< scaled

  bool sees(size_t position) const {
    const size_t own = cache.row.position;
    return position <= own &&
           (options.window == 0 || own - position < options.window) &&
           (options.chunk == 0 ||
            position / options.chunk == own / options.chunk);
  }
};

void attend_block(const head_query& x, size_t base, running_softmax& state) {
  partial_results scores;
  scores.fill(-infinity);
  for (size_t p = 0; p < kv_block_tokens; ++p) {
    if (!x.sees(base + p))
      continue;
    scores[p] = 0.0f;
    for (size_t d = 0; d < x.query.size(); ++d)
      scores[p] = std::fma(x.query[d], x.cache.key(base + p, d), scores[p]);
  }
  const float block = fold_max(scores);
  const float maximum = state.maximum > block ? state.maximum : block;
  const float factor =
    maximum == state.maximum ? 1.0f : exp_f32(state.maximum - maximum);
  state.maximum = maximum;
  partial_results weights{};
  for (size_t p = 0; p < kv_block_tokens; ++p)
    if (x.sees(base + p))
      weights[p] = exp_f32(scores[p] - maximum);
  state.sum = std::fma(state.sum, factor, fold_sum(weights));
  for (size_t d = 0; d < state.output.size(); ++d) {
    float y = state.output[d] * factor;
    for (size_t p = 0; p < kv_block_tokens; ++p)
      if (x.sees(base + p))
        y = std::fma(weights[p], x.cache.value(base + p, d), y);
    state.output[d] = y;
  }
}

} // namespace

void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out) {
  const size_t dim = options.layout.head_dim;
  const size_t size = options.layout.value_size();
  const size_t group = options.heads / options.layout.kv_heads;
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t head = 0; head < options.heads; ++head) {
      head_query x{options, {options.layout, rows[r], head / group}, {}};
      for (size_t d = 0; d < dim; ++d)
        x.query.push_back(q.row(r)[head * dim + d] * options.scale);
      running_softmax state;
      state.output.resize(size);
      if (!options.sinks.empty()) {
        state.maximum = options.sinks[head];
        state.sum = 1.0f;
      }
      for (size_t base = 0; base <= rows[r].position; base += kv_block_tokens)
        attend_block(x, base, state);
      for (size_t d = 0; d < size; ++d) {
        const float y = state.output[d] / state.sum;
        if (out.type == dtype::f32)
          reinterpret_cast<float*>(out.row(r))[head * size + d] = y;
        else
          reinterpret_cast<bf16*>(out.row(r))[head * size + d] = to_bf16(y);
      }
    }
}

std::vector<double> attention_f64(const attention_options& options,
                                  std::span<const attention_row> rows,
                                  matrix_view<const float> q) {
  const size_t dim = options.layout.head_dim;
  const size_t size = options.layout.value_size();
  const size_t group = options.heads / options.layout.kv_heads;
  std::vector<double> out(rows.size() * options.heads * size);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t head = 0; head < options.heads; ++head) {
      const head_query x{options, {options.layout, rows[r], head / group}, {}};
      std::vector<double> scores(rows[r].position + 1);
      double top =
        options.sinks.empty() ? -infinity : double{options.sinks[head]};
      for (size_t p = 0; p < scores.size(); ++p) {
        for (size_t d = 0; x.sees(p) && d < dim; ++d)
          scores[p] += double{q.row(r)[head * dim + d]} * x.cache.key(p, d);
        scores[p] = x.sees(p) ? scores[p] * options.scale : -infinity;
        top = std::max(top, scores[p]);
      }
      double sum =
        options.sinks.empty() ? 0.0 : std::exp(options.sinks[head] - top);
      double* y = out.data() + (r * options.heads + head) * size;
      for (size_t p = 0; p < scores.size(); ++p) {
        if (!x.sees(p))
          continue;
        const double weight = std::exp(scores[p] - top);
        sum += weight;
        for (size_t d = 0; d < size; ++d)
          y[d] += weight * x.cache.value(p, d);
      }
      for (size_t d = 0; d < size; ++d)
        y[d] /= sum;
    }
  return out;
}

} // namespace troupe::kernels::reference
