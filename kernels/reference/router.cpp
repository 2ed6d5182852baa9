// Routing by sorting all experts of a row.
#include "kernels/reference/router.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/fold.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace troupe::kernels::reference {

namespace {

void softmax(std::span<float> x) {
  partial_results best;
  best.fill(-std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < x.size(); ++i)
    best[i % 64] = i < 64 ? x[i] : (best[i % 64] > x[i] ? best[i % 64] : x[i]);
  const float top = fold_max(best);
  partial_results sums{};
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = exp_f32(x[i] - top);
    sums[i % 64] += x[i];
  }
  const float sum = fold_sum(sums);
  for (float& v : x)
    v /= sum;
}

void weigh(const router_options& options, std::span<float> weights) {
  if (options.score == router_score::softmax_selected)
    softmax(weights);
  float divisor = 1.0f;
  if (options.normalize == router_normalize::sum_to_one)
    divisor = std::accumulate(weights.begin(), weights.end(), 0.0f);
  for (float& w : weights)
    w = w / divisor * options.scale;
}

/// NaN last, then by score, then by id.
struct by_score {
  const std::vector<float>& scores;

  bool operator()(uint32_t a, uint32_t b) const {
    const bool a_nan = scores[a] != scores[a];
    const bool b_nan = scores[b] != scores[b];
    if (a_nan != b_nan)
      return b_nan;
    if (!a_nan && scores[a] != scores[b])
      return scores[a] > scores[b];
    return a < b;
  }
};

} // namespace

void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights) {
  const size_t experts = logits.cols;
  for (size_t r = 0; r < logits.rows; ++r) {
    std::vector<float> scores(logits.row(r), logits.row(r) + experts);
    for (size_t e = 0; e < options.logit_bias.size(); ++e)
      scores[e] += options.logit_bias[e];
    if (options.score == router_score::softmax)
      softmax(scores);
    else if (options.score == router_score::sigmoid)
      for (float& s : scores)
        s = sigmoid_f32(s);
    std::vector<float> selection = scores;
    for (size_t e = 0; e < options.selection_bias.size(); ++e)
      selection[e] += options.selection_bias[e];
    std::vector<uint32_t> order(experts);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), by_score{selection});
    for (size_t j = 0; j < options.top_k; ++j) {
      ids.row(r)[j] = order[j];
      weights.row(r)[j] = scores[order[j]];
    }
    weigh(options, {weights.row(r), options.top_k});
  }
}

} // namespace troupe::kernels::reference
