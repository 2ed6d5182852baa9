// Routing: the choice, ties, skew, and equal bits on every ISA.
#include "kernels/router.hpp"

#include "kernels/reference/router.hpp"
#include "row_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(router)

namespace {

struct routing {
  std::vector<uint32_t> ids;
  std::vector<float> weights;

  routing(size_t rows, size_t k) : ids(rows * k), weights(rows * k) {
  }
  matrix_view<uint32_t> id_rows(size_t k) {
    return {ids.data(), ids.size() / k, k, k};
  }
};

routing route_rows(const router_options& options, const std::vector<float>& x,
                   size_t experts, lanes& pool) {
  routing y(x.size() / experts, options.top_k);
  route(options, rows_of(x, experts), y.id_rows(options.top_k),
        rows_of(y.weights, options.top_k), pool);
  return y;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_best_experts_come_first_and_weights_sum_to_one) {
  lanes pool({.count = 0});
  const std::vector<float> logits{0.0f, 2.0f, -1.0f, 3.0f, 1.0f};
  const auto y = route_rows({.top_k = 3}, logits, 5, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{3, 1, 4}));
  const double sum = std::exp(3.0) + std::exp(2.0) + std::exp(1.0);
  BOOST_TEST(std::abs(y.weights[0] - std::exp(3.0) / sum) < 1e-6);
  BOOST_TEST(std::abs(y.weights[1] - std::exp(2.0) / sum) < 1e-6);
  BOOST_TEST(std::abs(y.weights[2] - std::exp(1.0) / sum) < 1e-6);
}

BOOST_AUTO_TEST_CASE(without_normalisation_weights_are_shares_of_all_experts) {
  lanes pool({.count = 0});
  const std::vector<float> logits{0.0f, 2.0f, -1.0f, 3.0f, 1.0f};
  const auto y =
    route_rows({.top_k = 1, .normalize = router_normalize::no, .scale = 2.5f},
               logits, 5, pool);
  double sum = 0;
  for (const float x : logits)
    sum += std::exp(double{x});
  BOOST_TEST(std::abs(y.weights[0] - 2.5 * std::exp(3.0) / sum) < 1e-6);
}

BOOST_AUTO_TEST_CASE(equal_scores_go_to_the_lower_id) {
  lanes pool({.count = 0});
  std::vector<float> logits(64, 1.0f);
  logits[40] = 2.0f;
  auto y = route_rows({.top_k = 4}, logits, 64, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{40, 0, 1, 2}));
  logits[1] = 2.0f;
  logits[63] = 2.0f;
  y = route_rows({.top_k = 4}, logits, 64, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{1, 40, 63, 0}));
}

BOOST_AUTO_TEST_CASE(all_experts_can_be_chosen) {
  random_rows random(41);
  lanes pool({.count = 0});
  const auto logits = random.normal(17);
  const auto y = route_rows({.top_k = 17}, logits, 17, pool);
  BOOST_TEST(std::set<uint32_t>(y.ids.begin(), y.ids.end()).size() == 17u);
  for (size_t j = 1; j < 17; ++j)
    BOOST_TEST(y.weights[j - 1] >= y.weights[j]);
}

BOOST_AUTO_TEST_CASE(a_logit_bias_draws_the_load_to_an_expert) {
  random_rows random(42);
  lanes pool({.count = 0});
  const auto logits = random.normal(50 * 16, 0.5f);
  std::vector<float> bias(16);
  bias[5] = 20.0f;
  router_options options{.top_k = 2};
  options.logit_bias = bias;
  const auto y = route_rows(options, logits, 16, pool);
  for (size_t r = 0; r < 50; ++r)
    BOOST_TEST(y.ids[2 * r] == 5u);
}

BOOST_AUTO_TEST_CASE(a_selection_bias_chooses_but_does_not_weigh) {
  lanes pool({.count = 0});
  const std::vector<float> logits{0.0f, 1.0f, 2.0f};
  const std::vector<float> bias{10.0f, 0.0f, 0.0f};
  router_options options{.top_k = 2,
                         .score = router_score::sigmoid,
                         .normalize = router_normalize::no};
  options.selection_bias = bias;
  const auto y = route_rows(options, logits, 3, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{0, 2}));
  BOOST_TEST(y.weights[0] == 0.5f);
  BOOST_TEST(std::abs(y.weights[1] - 1.0 / (1.0 + std::exp(-2.0))) < 1e-6);
}

BOOST_AUTO_TEST_CASE(softmax_of_the_selected_sums_to_one) {
  lanes pool({.count = 0});
  const std::vector<float> logits{0.0f, 2.0f, -1.0f, 3.0f};
  const auto y = route_rows({.top_k = 2,
                             .score = router_score::softmax_selected,
                             .normalize = router_normalize::no},
                            logits, 4, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{3, 1}));
  BOOST_TEST(std::abs(y.weights[0] - 1.0 / (1.0 + std::exp(-1.0))) < 1e-6);
  BOOST_TEST(std::abs(y.weights[0] + y.weights[1] - 1.0f) < 1e-6f);
}

BOOST_AUTO_TEST_CASE(logits_choose_where_their_sigmoids_are_equal) {
  lanes pool({.count = 0});
  const std::vector<float> logits{30.0f, 40.0f, -1.0f, 35.0f};
  const router_options options{.top_k = 3,
                               .score = router_score::sigmoid_selected,
                               .normalize = router_normalize::no};
  const auto y = route_rows(options, logits, 4, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{1, 3, 0}));
  for (const float w : y.weights)
    BOOST_TEST(w == 1.0f);
}

BOOST_AUTO_TEST_CASE(sparsemixer_weighs_among_near_logits_only) {
  lanes pool({.count = 0});
  router_options options{.top_k = 2,
                         .score = router_score::sparsemixer,
                         .normalize = router_normalize::no,
                         .jitter = 0.01f};
  // 1.0 is near nobody; 2.0 and 1.98 differ by less than 2 % of 2.0.
  auto y = route_rows(options, {2.0f, 1.0f, 1.98f, -3.0f}, 4, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{0, 2}));
  BOOST_TEST(std::abs(y.weights[0] - 1.0 / (1.0 + std::exp(-0.02))) < 1e-6);
  BOOST_TEST(y.weights[1] == 1.0f);
  // Below zero the distance is relative to the size of the other logit.
  y = route_rows(options, {-9.0f, -1.0f, -1.018f, -1.03f}, 4, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{1, 2}));
  BOOST_TEST(std::abs(y.weights[0] - 1.0 / (1.0 + std::exp(-0.018))) < 1e-6);
  BOOST_TEST(std::abs(y.weights[1] - 1.0 / (1.0 + std::exp(-0.012))) < 1e-6);
}

BOOST_AUTO_TEST_CASE(experts_outside_of_the_best_groups_are_not_chosen) {
  lanes pool({.count = 0});
  const std::vector<float> logits{5.0f, -9.0f, 4.0f, 4.5f, 1.0f, 4.75f};
  router_options options{.top_k = 2, .score = router_score::sigmoid};
  options.groups = {.count = 3, .kept = 1};
  auto y = route_rows(options, logits, 6, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{0, 1}), "the best score decides");
  options.groups.score = group_score::sum_of_two;
  y = route_rows(options, logits, 6, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{3, 2}), "two scores decide");
  options.groups.kept = 2;
  y = route_rows(options, logits, 6, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{5, 3}));
}

BOOST_AUTO_TEST_CASE(negative_biased_scores_beat_experts_of_other_groups) {
  lanes pool({.count = 0});
  const std::vector<float> logits{0.0f, 1.0f, 2.0f, 3.0f};
  const std::vector<float> bias{-5.0f, -5.0f, -7.0f, -7.0f};
  router_options options{.top_k = 2, .score = router_score::sigmoid};
  options.groups = {.count = 2, .kept = 1, .score = group_score::sum_of_two};
  options.selection_bias = bias;
  const auto y = route_rows(options, logits, 4, pool);
  BOOST_TEST(y.ids == (std::vector<uint32_t>{1, 0}));
  const double best = 1.0 / (1.0 + std::exp(-1.0));
  BOOST_TEST(std::abs(y.weights[0] - best / (best + 0.5)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(an_epsilon_is_added_to_the_sum_or_is_its_floor) {
  lanes pool({.count = 0});
  const std::vector<float> logits{-14.0f, -14.0f};
  const double score = std::exp(-14.0);
  router_options options{.top_k = 2,
                         .score = router_score::sigmoid,
                         .scale = 2.0f,
                         .epsilon = 1e-6f};
  auto y = route_rows(options, logits, 2, pool);
  BOOST_TEST(std::abs(y.weights[1] - 2 * score / (2 * score + 1e-6)) < 1e-5);
  options.epsilon_use = router_epsilon::floor;
  y = route_rows(options, logits, 2, pool);
  BOOST_TEST(y.weights[1] == 1.0f);
  options.epsilon = 1e-5f;
  y = route_rows(options, logits, 2, pool);
  BOOST_TEST(std::abs(y.weights[1] - 2 * score / 1e-5) < 1e-5);
}

BOOST_AUTO_TEST_CASE(grouped_sigmoid_routing_agrees_with_double_arithmetic) {
  random_rows random(44);
  lanes pool({.count = 0});
  constexpr size_t experts = 64, k = 6;
  const auto logits = random.normal(experts, 2.0f);
  const auto bias = random.normal(experts, 0.5f);
  router_options options{.top_k = k,
                         .score = router_score::sigmoid,
                         .scale = 2.5f,
                         .epsilon = 1e-20f};
  options.groups = {.count = 8, .kept = 3, .score = group_score::sum_of_two};
  options.selection_bias = bias;
  const auto y = route_rows(options, logits, experts, pool);
  std::vector<double> score(experts);
  std::vector<std::pair<double, size_t>> groups(8);
  for (size_t g = 0; g < 8; ++g) {
    std::vector<double> biased;
    for (size_t e = 8 * g; e < 8 * g + 8; ++e) {
      score[e] = 1.0 / (1.0 + std::exp(-double{logits[e]}));
      biased.push_back(score[e] + double{bias[e]});
    }
    std::sort(biased.rbegin(), biased.rend());
    groups[g] = {biased[0] + biased[1], g};
  }
  std::sort(groups.rbegin(), groups.rend());
  std::vector<std::pair<double, uint32_t>> kept;
  for (size_t i = 0; i < 3; ++i)
    for (size_t e = 8 * groups[i].second; e < 8 * groups[i].second + 8; ++e)
      kept.emplace_back(score[e] + double{bias[e]}, static_cast<uint32_t>(e));
  std::sort(kept.rbegin(), kept.rend());
  double sum = 0;
  for (size_t j = 0; j < k; ++j)
    sum += score[kept[j].second];
  for (size_t j = 0; j < k; ++j) {
    BOOST_TEST(y.ids[j] == kept[j].second);
    BOOST_TEST(std::abs(y.weights[j] - 2.5 * score[y.ids[j]] / sum) < 1e-6);
  }
}

namespace {

/// Every score with and without groups, bias and an epsilon.
std::vector<router_options> all_rules(size_t experts, size_t k,
                                      std::span<const float> bias) {
  std::vector<router_options> all;
  for (const router_score score :
       {router_score::softmax, router_score::softmax_selected,
        router_score::sigmoid, router_score::sigmoid_selected,
        router_score::sparsemixer}) {
    router_options plain{.top_k = k, .score = score, .jitter = 0.3f};
    all.push_back(plain);
    plain.selection_bias = bias;
    plain.normalize = router_normalize::no;
    all.push_back(plain);
    if (experts % 4 != 0 || experts < 16)
      continue;
    router_options grouped{
      .top_k = k, .score = score, .scale = 2.5f, .epsilon = 1e-6f};
    grouped.groups = {.count = 4, .kept = 2};
    all.push_back(grouped);
    grouped.groups.score = group_score::sum_of_two;
    grouped.epsilon_use = router_epsilon::floor;
    grouped.selection_bias = bias;
    all.push_back(grouped);
  }
  return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_batch_and_lane_gives_the_bits_of_the_rule) {
  random_rows random(43);
  const flush_denormals_scope flush;
  lanes alone({.count = 0}), two({.count = 2});
  for (const size_t experts : {3u, 16u, 60u, 64u, 65u, 128u, 200u}) {
    const size_t k = std::min<size_t>(8, experts);
    const auto logits = random.normal(70 * experts, 3.0f);
    const auto bias = random.normal(experts);
    for (auto options : all_rules(experts, k, bias)) {
      BOOST_REQUIRE(check_router(options, experts));
      routing want(70, k);
      reference::route(options, rows_of(logits, experts), want.id_rows(k),
                       rows_of(want.weights, k));
      for (const isa level : all_isas())
        for (lanes* pool : {&alone, &two}) {
          options.isa = level;
          const auto y = route_rows(options, logits, experts, *pool);
          BOOST_TEST(y.ids == want.ids);
          BOOST_TEST(differing(y.weights, want.weights) == 0);
        }
    }
  }
}

BOOST_AUTO_TEST_CASE(any_logits_give_distinct_ids_of_kept_groups) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  random_rows random(45);
  lanes pool({.count = 0});
  const std::vector<float> values{-inf, nan, 0.0f, -0.0f, 1.0f, 1e30f, inf};
  for (int round = 0; round < 50; ++round) {
    std::vector<float> logits(16);
    for (float& x : logits)
      x = values[random.below(values.size())];
    for (const auto& options : all_rules(16, 8, {})) {
      const auto y = route_rows(options, logits, 16, pool);
      std::set<uint32_t> ids, groups;
      for (const uint32_t id : y.ids) {
        ids.insert(id);
        groups.insert(id / 4);
      }
      BOOST_TEST(ids.size() == 8u);
      BOOST_TEST(*ids.rbegin() < 16u);
      BOOST_TEST(groups.size() <= (options.groups.count == 1 ? 4u : 2u));
      routing want(1, 8);
      reference::route(options, rows_of(logits, 16), want.id_rows(8),
                       rows_of(want.weights, 8));
      BOOST_TEST(y.ids == want.ids);
    }
  }
}

BOOST_AUTO_TEST_CASE(nan_logits_give_valid_distinct_ids_and_nan_weights) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  lanes pool({.count = 0});
  for (const isa level : all_isas()) {
    const std::vector<float> all(16, nan);
    const auto y = route_rows({.top_k = 4, .isa = level}, all, 16, pool);
    BOOST_TEST(y.ids == (std::vector<uint32_t>{0, 1, 2, 3}));
    for (const float w : y.weights)
      BOOST_TEST(std::isnan(w));
    std::vector<float> one(16, 0.0f);
    one[2] = nan;
    const auto z =
      route_rows({.top_k = 15, .score = router_score::sigmoid, .isa = level},
                 one, 16, pool);
    for (const uint32_t id : z.ids)
      BOOST_TEST(id != 2u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
