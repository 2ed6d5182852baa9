// Routing: the choice, ties, skew, and equal bits on every ISA.
#include "kernels/router.hpp"

#include "kernels/reference/router.hpp"
#include "row_support.hpp"

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

BOOST_AUTO_TEST_CASE(every_isa_batch_and_lane_gives_the_bits_of_the_rule) {
  random_rows random(43);
  const flush_denormals_scope flush;
  for (const size_t experts : {3u, 16u, 60u, 64u, 65u, 128u, 200u})
    for (const router_score score :
         {router_score::softmax, router_score::softmax_selected,
          router_score::sigmoid}) {
      const size_t k = std::min<size_t>(8, experts);
      const auto logits = random.normal(70 * experts, 3.0f);
      router_options options{.top_k = k, .score = score};
      routing want(70, k);
      reference::route(options, rows_of(logits, experts), want.id_rows(k),
                       rows_of(want.weights, k));
      for (const isa level : all_isas())
        for (const size_t count : {0u, 2u}) {
          lanes pool({.count = count});
          options.isa = level;
          const auto y = route_rows(options, logits, experts, pool);
          BOOST_TEST(y.ids == want.ids);
          BOOST_TEST(differing(y.weights, want.weights) == 0);
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
