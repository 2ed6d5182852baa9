// Routing kernels: scores are vectors over the experts, the choice is one pass
// over the experts of the kept groups that holds the best k in order.
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
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace troupe::kernels {

namespace {

constexpr size_t rows_per_task = 32;
constexpr size_t partial_count = 64;
constexpr float lowest = -std::numeric_limits<float>::infinity();

/// The indices of the largest scores seen, largest first, equal ones by index;
/// a NaN counts as less than any number. `ids` is the room for them.
class best_list {
public:
  best_list(std::span<const float> scores, std::span<uint32_t> ids)
    : scores_(scores), ids_(ids) {
    // nop
  }

  /// Takes the indices [begin, end), which are larger than those before.
  void add(size_t begin, size_t end) {
    for (auto e = static_cast<uint32_t>(begin); e < end; ++e) {
      if (filled_ == ids_.size() && !better(e, ids_[filled_ - 1]))
        continue;
      size_t at = filled_ < ids_.size() ? filled_++ : filled_ - 1;
      for (; at > 0 && better(e, ids_[at - 1]); --at)
        ids_[at] = ids_[at - 1];
      ids_[at] = e;
    }
  }

private:
  bool better(uint32_t a, uint32_t b) const {
    return scores_[a] > scores_[b] ||
           (scores_[b] != scores_[b] && scores_[a] == scores_[a]);
  }

  std::span<const float> scores_;
  std::span<uint32_t> ids_;
  size_t filled_ = 0;
};

/// Memory for one row.
struct row_memory {
  std::span<float> scores;    ///< Experts, padded to a multiple of 64.
  std::span<float> selection; ///< Scores with the selection bias; as long.
  std::span<float> group_scores;
  std::span<uint32_t> group_ids; ///< Kept groups.
};

/// The functions of one ISA, and memory for one row.
struct row_router {
  const router_options& options;
  void (*softmax)(float*, size_t);
  void (*sigmoid)(float*, size_t);
  row_memory memory;

  void route_row(std::span<const float> logits, std::span<uint32_t> ids,
                 std::span<float> weights) const;
  void fill_scores(std::span<const float> logits) const;
  void choose(std::span<const float> selection, std::span<uint32_t> ids) const;
  void choose_groups(std::span<const float> selection, size_t size) const;
  void weigh(std::span<const uint32_t> ids, std::span<float> weights) const;
  void weigh_nearest(std::span<const uint32_t> ids,
                     std::span<float> weights) const;
  void apply(void (*function)(float*, size_t), std::span<float> weights) const;
  void normalize(std::span<float> weights) const;
};

void row_router::fill_scores(std::span<const float> logits) const {
  const auto scores = memory.scores;
  for (size_t e = 0; e < logits.size(); ++e)
    scores[e] = options.logit_bias.empty() ? logits[e]
                                           : logits[e] + options.logit_bias[e];
  std::fill(scores.begin() + static_cast<std::ptrdiff_t>(logits.size()),
            scores.end(), lowest);
  if (options.score == router_score::softmax)
    softmax(scores.data(), logits.size());
  else if (options.score == router_score::sigmoid)
    sigmoid(scores.data(), logits.size());
}

/// Leaves the kept groups in `memory.group_ids`, in ascending order.
void row_router::choose_groups(std::span<const float> selection,
                               size_t size) const {
  const auto values = memory.group_scores;
  for (size_t g = 0; g < values.size(); ++g) {
    std::array<uint32_t, 2> two{};
    const bool both = options.groups.score == group_score::sum_of_two;
    best_list best(selection, std::span(two).first(both ? 2 : 1));
    best.add(g * size, (g + 1) * size);
    values[g] = selection[two[0]];
    if (both)
      values[g] += selection[two[1]];
  }
  best_list(values, memory.group_ids).add(0, values.size());
  std::sort(memory.group_ids.begin(), memory.group_ids.end());
}

void row_router::choose(std::span<const float> selection,
                        std::span<uint32_t> ids) const {
  best_list best(selection, ids);
  if (options.groups.count == 1)
    return best.add(0, selection.size());
  const size_t size = selection.size() / options.groups.count;
  choose_groups(selection, size);
  for (const uint32_t g : memory.group_ids)
    best.add(g * size, (g + 1) * size);
}

/// Replaces the weights by a function of all of them; destroys the scores.
void row_router::apply(void (*function)(float*, size_t),
                       std::span<float> weights) const {
  const auto scores = memory.scores;
  std::copy(weights.begin(), weights.end(), scores.begin());
  std::fill(scores.begin() + static_cast<std::ptrdiff_t>(weights.size()),
            scores.end(), lowest);
  function(scores.data(), weights.size());
  std::copy_n(scores.begin(), weights.size(), weights.begin());
}

/// See router_score::sparsemixer. A comparison with NaN masks nothing.
void row_router::weigh_nearest(std::span<const uint32_t> ids,
                               std::span<float> weights) const {
  const auto scores = memory.scores;
  const auto near = memory.selection;
  for (size_t j = 0; j < ids.size(); ++j) {
    const float best = scores[ids[j]];
    for (size_t e = 0; e < scores.size(); ++e) {
      const float size = std::max(best, std::abs(scores[e]));
      const bool far = (best - scores[e]) / size > 2.0f * options.jitter;
      near[e] = far ? lowest : scores[e];
    }
    for (size_t before = 0; before < j; ++before)
      near[ids[before]] = lowest;
    softmax(near.data(), near.size());
    weights[j] = near[ids[j]];
  }
}

void row_router::normalize(std::span<float> weights) const {
  float divisor = 1.0f;
  if (options.normalize == router_normalize::sum_to_one) {
    divisor = std::accumulate(weights.begin(), weights.end(), 0.0f);
    if (options.epsilon_use == router_epsilon::added)
      divisor += options.epsilon;
    else if (divisor < options.epsilon)
      divisor = options.epsilon;
  }
  for (float& w : weights)
    w = w / divisor * options.scale;
}

void row_router::weigh(std::span<const uint32_t> ids,
                       std::span<float> weights) const {
  for (size_t j = 0; j < ids.size(); ++j)
    weights[j] = memory.scores[ids[j]];
  switch (options.score) {
  case router_score::softmax:
  case router_score::sigmoid:
    break;
  case router_score::softmax_selected:
    apply(softmax, weights);
    break;
  case router_score::sigmoid_selected:
    apply(sigmoid, weights);
    break;
  case router_score::sparsemixer:
    weigh_nearest(ids, weights);
    break;
  }
  normalize(weights);
}

void row_router::route_row(std::span<const float> logits,
                           std::span<uint32_t> ids,
                           std::span<float> weights) const {
  const size_t experts = logits.size();
  fill_scores(logits);
  auto selection = memory.scores.first(experts);
  if (!options.selection_bias.empty()) {
    selection = memory.selection.first(experts);
    for (size_t e = 0; e < experts; ++e)
      selection[e] = memory.scores[e] + options.selection_bias[e];
  }
  choose(selection, ids);
  weigh(ids, weights);
}

/// Cuts one row's memory out of a lane's.
class memory_plan {
public:
  memory_plan(const router_groups& groups, size_t experts)
    : groups_(groups),
      padded_((experts + partial_count - 1) / partial_count * partial_count) {
    // nop
  }

  size_t size_bytes() const {
    return (2 * padded_ + groups_.count) * sizeof(float) +
           groups_.kept * sizeof(uint32_t);
  }

  row_memory cut(std::byte* memory) const {
    auto* floats = reinterpret_cast<float*>(memory);
    auto* ids = reinterpret_cast<uint32_t*>(
      memory + (2 * padded_ + groups_.count) * sizeof(float));
    return {{floats, padded_},
            {floats + padded_, padded_},
            {floats + 2 * padded_, groups_.count},
            {ids, groups_.kept}};
  }

private:
  router_groups groups_;
  size_t padded_;
};

} // namespace

void route(const router_options& options, matrix_view<const float> logits,
           matrix_view<uint32_t> ids, matrix_view<float> weights, lanes& pool) {
  const size_t experts = logits.cols;
  const size_t k = options.top_k;
  TROUPE_ASSERT(check_router(options, experts));
  TROUPE_ASSERT(ids.rows == logits.rows && ids.cols == k);
  TROUPE_ASSERT(weights.rows == logits.rows && weights.cols == k);
  const auto softmax_fn = TROUPE_SIMD_PICK(options.isa, softmax);
  const auto sigmoid_fn = TROUPE_SIMD_PICK(options.isa, sigmoid);
  const memory_plan plan(options.groups, experts);
  const size_t tasks = (logits.rows + rows_per_task - 1) / rows_per_task;
  pool.parallel_for(tasks, [&](size_t task, size_t lane) {
    const row_router router{
      options, softmax_fn, sigmoid_fn,
      plan.cut(pool.task_scratch(lane, plan.size_bytes()))};
    const size_t end = std::min(logits.rows, (task + 1) * rows_per_task);
    for (size_t r = task * rows_per_task; r < end; ++r)
      router.route_row({logits.row(r), experts}, {ids.row(r), k},
                       {weights.row(r), k});
  });
}

} // namespace troupe::kernels

#endif
