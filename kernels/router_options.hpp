// What a model's router does, as properties. Checked where they come from a
// file, asserted where they are used.
#pragma once

#include "kernels/isa.hpp"
#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::kernels {

/// What a logit becomes, before or after the best experts are chosen.
enum class router_score : uint8_t {
  softmax,          ///< Over all experts.
  softmax_selected, ///< Logits choose; softmax over the chosen.
  sigmoid,          ///< Each on its own.
  sigmoid_selected, ///< Logits choose; sigmoid of each chosen one.
  /// Logits choose. The weight of the j-th is its share in a softmax over the
  /// experts not chosen before it whose logit is near the best one m of these:
  /// (m - logit) / max(|logit|, m) <= 2 * jitter (Liu et al., 2024, GRIN-MoE).
  sparsemixer,
};

/// Whether the chosen scores are divided by their sum.
enum class router_normalize : uint8_t { no, sum_to_one };

/// What keeps the division by a small sum in bounds.
enum class router_epsilon : uint8_t {
  added, ///< w / (sum + epsilon)
  floor, ///< w / max(sum, epsilon)
};

/// What a group of experts is worth.
enum class group_score : uint8_t {
  best,       ///< Its best score.
  sum_of_two, ///< The sum of its two best.
};

/// Experts in groups of neighbours, of which only the best take part; of equal
/// groups the lower one wins. `count` 1: no groups.
struct router_groups {
  size_t count = 1; ///< Divides the number of experts.
  size_t kept = 1;
  group_score score = group_score::best; ///< Of scores with selection bias.
};

struct router_options {
  size_t top_k = 1;
  router_score score = router_score::softmax;
  router_normalize normalize = router_normalize::sum_to_one;
  float scale = 1.0f; ///< Times every weight, at the end.
  /// For `normalize`; 0 changes nothing.
  float epsilon = 0.0f;
  router_epsilon epsilon_use = router_epsilon::added;
  router_groups groups = {};
  float jitter = 0.0f; ///< sparsemixer only.
  /// Per expert, or empty: added to the logits (load skew on purpose).
  std::span<const float> logit_bias = {};
  /// Per expert, or empty: added to the scores for the choice only.
  std::span<const float> selection_bias = {};
  kernels::isa isa = best_isa();
};

/// Returns what is wrong with `options` for so many experts (invalid_argument),
/// for those who read them from a file.
result<void> check_router(const router_options& options, size_t experts);

} // namespace troupe::kernels
