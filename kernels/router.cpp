// Routing kernels: scores are vectors over the experts, the choice is one pass
// that keeps the best k in order.
#include "kernels/router.hpp"

#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/router.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// x = e^(x - max x) / sum, in place. The memory behind x is a multiple of 64
/// elements long and holds -inf from n on.
void softmax(float* x, size_t n) {
  const f32_tag d;
  f32_vec best[partial_vectors];
  f32_vec sums[partial_vectors];
  for (size_t v = 0; v < partial_vectors; ++v) {
    best[v] = load_row(x + v * width);
    sums[v] = hn::Zero(d);
  }
  for (size_t i = partials; i < n; i += partials)
    for (size_t v = 0; v < partial_vectors; ++v)
      best[v] = greater_of(best[v], load_row(x + i + v * width));
  const f32_vec top = hn::Set(d, max_partials(best));
  for (size_t i = 0; i < n; i += partials)
    for (size_t v = 0; v < partial_vectors; ++v) {
      float* at = x + i + v * width;
      const f32_vec e = exp_f32(d, hn::Sub(load_row(at), top));
      store_row(e, at);
      sums[v] = hn::Add(sums[v], e);
    }
  const f32_vec sum = hn::Set(d, sum_partials(sums));
  for (size_t i = 0; i < n; i += width)
    store_row(hn::Div(load_row(x + i), sum), x + i);
}

/// x = sigmoid(x), in place; the same memory as for `softmax`.
void sigmoid(float* x, size_t n) {
  const f32_tag d;
  for (size_t i = 0; i < n; i += width)
    store_row(sigmoid_f32(d, load_row(x + i)), x + i);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <limits>

namespace troupe::kernels {

namespace {

constexpr size_t rows_per_task = 32;
constexpr size_t partial_count = 64;

/// Fills `ids` with the indices of the largest `scores`, largest first, equal
/// ones by index; a NaN counts as less than any number.
void choose_best(std::span<const float> scores, std::span<uint32_t> ids) {
  const auto better = [scores](uint32_t a, uint32_t b) {
    return scores[a] > scores[b] ||
           (scores[b] != scores[b] && scores[a] == scores[a]);
  };
  size_t filled = 0;
  for (uint32_t e = 0; e < scores.size(); ++e) {
    if (filled == ids.size() && !better(e, ids[filled - 1]))
      continue;
    size_t at = filled < ids.size() ? filled++ : filled - 1;
    for (; at > 0 && better(e, ids[at - 1]); --at)
      ids[at] = ids[at - 1];
    ids[at] = e;
  }
}

/// The functions of one ISA, and memory for one row.
struct row_router {
  const router_options& options;
  void (*softmax)(float*, size_t);
  void (*sigmoid)(float*, size_t);
  std::span<float> scores;    ///< Experts, padded to a multiple of 64.
  std::span<float> selection; ///< Scores with the selection bias.

  void route_row(std::span<const float> logits, std::span<uint32_t> ids,
                 std::span<float> weights) const;
  void fill_scores(std::span<const float> logits) const;
  void weigh_chosen(std::span<const uint32_t> ids,
                    std::span<float> weights) const;
};

void row_router::fill_scores(std::span<const float> logits) const {
  std::fill(scores.begin(), scores.end(),
            -std::numeric_limits<float>::infinity());
  for (size_t e = 0; e < logits.size(); ++e)
    scores[e] = options.logit_bias.empty() ? logits[e]
                                           : logits[e] + options.logit_bias[e];
  if (options.score == router_score::softmax)
    softmax(scores.data(), logits.size());
  else if (options.score == router_score::sigmoid)
    sigmoid(scores.data(), logits.size());
}

void row_router::weigh_chosen(std::span<const uint32_t> ids,
                              std::span<float> weights) const {
  for (size_t j = 0; j < ids.size(); ++j)
    weights[j] = scores[ids[j]];
  if (options.score == router_score::softmax_selected) {
    std::copy(weights.begin(), weights.end(), scores.begin());
    std::fill(scores.begin() + static_cast<std::ptrdiff_t>(weights.size()),
              scores.end(), -std::numeric_limits<float>::infinity());
    softmax(scores.data(), weights.size());
    std::copy_n(scores.begin(), weights.size(), weights.begin());
  }
  float divisor = 1.0f;
  if (options.normalize == router_normalize::sum_to_one) {
    divisor = 0.0f;
    for (const float w : weights)
      divisor += w;
  }
  for (float& w : weights)
    w = w / divisor * options.scale;
}

void row_router::route_row(std::span<const float> logits,
                           std::span<uint32_t> ids,
                           std::span<float> weights) const {
  const size_t experts = logits.size();
  fill_scores(logits);
  if (options.selection_bias.empty()) {
    choose_best(scores.first(experts), ids);
  } else {
    for (size_t e = 0; e < experts; ++e)
      selection[e] = scores[e] + options.selection_bias[e];
    choose_best(selection.first(experts), ids);
  }
  weigh_chosen(ids, weights);
}

} // namespace

void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights, lanes& pool) {
  const size_t experts = logits.cols;
  const size_t k = options.top_k;
  TROUPE_ASSERT(k >= 1 && k <= experts);
  TROUPE_ASSERT(ids.rows == logits.rows && ids.cols == k);
  TROUPE_ASSERT(weights.rows == logits.rows && weights.cols == k);
  TROUPE_ASSERT(options.logit_bias.empty() ||
                options.logit_bias.size() == experts);
  TROUPE_ASSERT(options.selection_bias.empty() ||
                options.selection_bias.size() == experts);
  const auto softmax_fn = TROUPE_SIMD_PICK(options.isa, softmax);
  const auto sigmoid_fn = TROUPE_SIMD_PICK(options.isa, sigmoid);
  const size_t padded =
    (experts + partial_count - 1) / partial_count * partial_count;
  const size_t tasks = (logits.rows + rows_per_task - 1) / rows_per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t lane) {
    auto* memory = reinterpret_cast<float*>(
      pool.task_scratch(lane, 2 * padded * sizeof(float)));
    const row_router router{options,
                            softmax_fn,
                            sigmoid_fn,
                            {memory, padded},
                            {memory + padded, padded}};
    const size_t end = std::min(logits.rows, (task + 1) * rows_per_task);
    for (size_t r = task * rows_per_task; r < end; ++r)
      router.route_row({logits.row(r), experts}, {ids.row(r), k},
                       {weights.row(r), k});
  });
}

} // namespace troupe::kernels

#endif
