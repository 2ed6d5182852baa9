// Routing by sorting all experts of a row.
#include "kernels/reference/router.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/fold.hpp"

#include <algorithm>
#include <cmath>
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

std::vector<uint32_t> sorted_ids(const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), by_score{scores});
  return order;
}

/// All experts of the kept groups, best first.
std::vector<uint32_t> candidates(const router_groups& groups,
                                 const std::vector<float>& selection) {
  const auto order = sorted_ids(selection);
  const size_t size = selection.size() / groups.count;
  std::vector<float> worth(groups.count);
  for (size_t g = 0; g < groups.count && groups.count > 1; ++g) {
    std::vector<float> members;
    for (const uint32_t e : order)
      if (e / size == g)
        members.push_back(selection[e]);
    worth[g] = members[0];
    if (groups.score == group_score::sum_of_two)
      worth[g] += members[1];
  }
  auto kept = sorted_ids(worth);
  kept.resize(groups.kept);
  std::vector<uint32_t> out;
  for (const uint32_t e : order)
    if (std::count(kept.begin(), kept.end(), e / size) == 1)
      out.push_back(e);
  return out;
}

/// Shares of the chosen in softmaxes over those near the best that is left.
void weigh_nearest(const router_options& options, std::vector<float> scores,
                   std::span<const uint32_t> ids, std::span<float> weights) {
  const std::vector<float> all = scores;
  for (size_t j = 0; j < ids.size(); ++j) {
    const float best = all[ids[j]];
    std::vector<float> near = scores;
    for (size_t e = 0; e < all.size(); ++e)
      if ((best - all[e]) / std::max(best, std::abs(all[e])) >
          2.0f * options.jitter)
        near[e] = -std::numeric_limits<float>::infinity();
    softmax(near);
    weights[j] = near[ids[j]];
    scores[ids[j]] = -std::numeric_limits<float>::infinity();
  }
}

void normalize(const router_options& options, std::span<float> weights) {
  float divisor = 1.0f;
  if (options.normalize == router_normalize::sum_to_one) {
    divisor = std::accumulate(weights.begin(), weights.end(), 0.0f);
    divisor = options.epsilon_use == router_epsilon::added
                ? divisor + options.epsilon
                : std::max(divisor, options.epsilon);
  }
  for (float& w : weights)
    w = w / divisor * options.scale;
}

void route_row(const router_options& options, std::vector<float> scores,
               std::span<uint32_t> ids, std::span<float> weights) {
  for (size_t e = 0; e < options.logit_bias.size(); ++e)
    scores[e] += options.logit_bias[e];
  if (options.score == router_score::softmax)
    softmax(scores);
  if (options.score == router_score::sigmoid)
    for (float& s : scores)
      s = sigmoid_f32(s);
  std::vector<float> selection = scores;
  for (size_t e = 0; e < options.selection_bias.size(); ++e)
    selection[e] += options.selection_bias[e];
  const auto order = candidates(options.groups, selection);
  for (size_t j = 0; j < ids.size(); ++j) {
    ids[j] = order[j];
    weights[j] = scores[order[j]];
    if (options.score == router_score::sigmoid_selected)
      weights[j] = sigmoid_f32(weights[j]);
  }
  if (options.score == router_score::softmax_selected)
    softmax(weights);
  if (options.score == router_score::sparsemixer)
    weigh_nearest(options, scores, ids, weights);
  normalize(options, weights);
}

} // namespace

void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights) {
  for (size_t r = 0; r < logits.rows; ++r)
    route_row(options, {logits.row(r), logits.row(r) + logits.cols},
              {ids.row(r), options.top_k}, {weights.row(r), options.top_k});
}

} // namespace troupe::kernels::reference
