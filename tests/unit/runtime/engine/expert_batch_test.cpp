// Pairs to experts: each output at its pair's place, with bits that do not
// depend on the other pairs, and router weights by the model's rule.
#include "golden_model.hpp"
#include "runtime/engine/local_experts.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace troupe;
using kernels::dtype;

namespace {

constexpr layer_index layer{2};

struct fixture {
  local_model model =
    golden::load(golden::demo_folder, kernels::numeric_mode::bf16);
  kernels::lanes pool{{.count = 1}};
  uint32_t seed = std::random_device{}();
  std::mt19937 random{seed};

  fixture() {
    BOOST_TEST_MESSAGE("seed " << seed);
  }

  hidden_rows random_rows(size_t n) {
    std::normal_distribution<float> value;
    hidden_rows out{n, model.backbone->config.hidden_size, dtype::bf16};
    for (auto& x : out.memory.as<kernels::bf16>())
      x = kernels::to_bf16(value(random));
    return out;
  }

  hidden_rows run(const hidden_rows& rows, std::span<const expert_pair> pairs,
                  dtype type) {
    const auto* experts = model.experts->layer(layer);
    hidden_rows out{pairs.size(), rows.cols, type};
    run_expert_batch(
      rows.view(), pairs, [&](expert_id e) { return experts->find(e); },
      out.output(), pool);
    return out;
  }
};

bool same_row(const hidden_rows& a, size_t i, const hidden_rows& b, size_t j) {
  return std::memcmp(a.row(i), b.row(j), a.row_bytes()) == 0;
}

moe_request asking(std::vector<float> logits) {
  moe_request out;
  out.router_logits = std::move(logits);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(expert_batches)

BOOST_FIXTURE_TEST_CASE(an_input_weight_scales_and_rounds_the_row, fixture) {
  const auto rows = random_rows(3);
  auto scaled = random_rows(3);
  for (size_t r = 0; r < 3; ++r)
    for (size_t i = 0; i < rows.cols; ++i) {
      const auto* from = reinterpret_cast<const kernels::bf16*>(rows.row(r));
      auto* to = reinterpret_cast<kernels::bf16*>(scaled.row(r));
      to[i] = kernels::to_bf16(0.3F * kernels::to_float(from[i]));
    }
  std::vector<expert_pair> pairs{
    {2, expert_id{3}, 0.3F}, {0, expert_id{3}}, {1, expert_id{5}, 0.3F}};
  const std::vector<expert_pair> plain{
    {2, expert_id{3}}, {0, expert_id{3}}, {1, expert_id{5}}};
  const auto found = run(rows, pairs, dtype::f32);
  const auto expected = run(scaled, plain, dtype::f32);
  BOOST_TEST(same_row(found, 0, expected, 0));
  BOOST_TEST(same_row(found, 2, expected, 2));
  BOOST_TEST(same_row(found, 1, run(rows, plain, dtype::f32), 1));
}

BOOST_FIXTURE_TEST_CASE(a_selection_bias_moves_the_choice_alone, fixture) {
  auto config = model.backbone->config.router;
  config.normalize = kernels::router_normalize::no;
  std::vector<float> logits(config.num_experts, 0.0F);
  auto x = asking(logits);
  const auto plain = route(config, x, pool);
  std::vector<float> bias(config.num_experts, 0.0F);
  bias.back() = 4.0F;
  x.selection_bias = std::make_shared<const std::vector<float>>(bias);
  const auto out = route(config, x, pool);
  BOOST_TEST_REQUIRE((out.has_value() && plain.has_value()));
  BOOST_TEST(out->experts.front() == config.num_experts - 1);
  BOOST_TEST(out->weights.front() == plain->weights.front());
}

BOOST_FIXTURE_TEST_CASE(weights_of_the_input_leave_the_sum_alone, fixture) {
  auto config = model.backbone->config.router;
  config.scales_input = true;
  std::vector<float> logits(2 * config.num_experts, 0.5F);
  const auto out = route(config, asking(logits), pool);
  BOOST_TEST_REQUIRE(out.has_value());
  BOOST_TEST_REQUIRE(out->input_weights.size() == out->pairs());
  BOOST_TEST(out->input_weight(0) < 1.0F);
  for (auto w : out->weights)
    BOOST_TEST(w == 1.0F);
}

BOOST_FIXTURE_TEST_CASE(a_pair_has_the_same_bits_in_any_company, fixture) {
  const auto rows = random_rows(9);
  std::vector<expert_pair> pairs;
  for (uint32_t i = 0; i < 60; ++i)
    pairs.push_back({static_cast<uint32_t>(random() % 9),
                     expert_id{static_cast<uint32_t>(random() % 16)}});
  for (auto type : {dtype::bf16, dtype::f32}) {
    const auto together = run(rows, pairs, type);
    for (size_t i = 0; i < pairs.size(); ++i)
      BOOST_TEST(same_row(together, i, run(rows, {&pairs[i], 1}, type), 0));
  }
}

BOOST_FIXTURE_TEST_CASE(a_bf16_reply_is_the_f32_reply_rounded, fixture) {
  const auto rows = random_rows(3);
  const std::vector<expert_pair> pairs{{0, expert_id{3}}, {2, expert_id{15}}};
  const auto wide = run(rows, pairs, dtype::f32);
  const auto narrow = run(rows, pairs, dtype::bf16);
  const auto w = wide.memory.as<float>();
  const auto n = narrow.memory.as<kernels::bf16>();
  for (size_t i = 0; i < pairs.size() * rows.cols; ++i)
    BOOST_TEST_REQUIRE((kernels::to_bf16(w[i]) == n[i]));
}

BOOST_FIXTURE_TEST_CASE(no_pairs_are_no_work, fixture) {
  const auto rows = random_rows(1);
  BOOST_TEST(run(rows, {}, dtype::bf16).rows == 0u);
}

BOOST_FIXTURE_TEST_CASE(router_weights_add_up_and_ids_differ, fixture) {
  const auto& config = model.backbone->config.router;
  std::vector<float> logits(5 * config.num_experts);
  std::normal_distribution<float> value;
  for (auto& x : logits)
    x = value(random);
  const auto out = route(config, asking(logits), pool);
  BOOST_TEST_REQUIRE(out.has_value());
  BOOST_TEST_REQUIRE(out->pairs() == 5 * config.top_k);
  for (size_t r = 0; r < 5; ++r) {
    const auto w = std::span{out->weights}.subspan(r * config.top_k);
    const float sum =
      std::accumulate(w.begin(), w.begin() + config.top_k, 0.0F);
    BOOST_TEST(std::abs(sum - 1.0F) < 1e-5F);
    const auto best = std::max_element(
      logits.begin() + static_cast<long>(r * config.num_experts),
      logits.begin() + static_cast<long>((r + 1) * config.num_experts));
    BOOST_TEST(out->experts[r * config.top_k] ==
               static_cast<uint32_t>(best - logits.begin()) -
                 r * config.num_experts);
  }
}

BOOST_FIXTURE_TEST_CASE(a_router_bias_draws_rows_to_an_expert, fixture) {
  const auto& config = model.backbone->config.router;
  const std::vector<float> logits(3 * config.num_experts, 0.0F);
  std::vector<float> bias(config.num_experts, 0.0F);
  bias[11] = 4.0F;
  const auto out = route(config, asking(logits), pool, bias);
  BOOST_TEST_REQUIRE(out.has_value());
  for (size_t r = 0; r < 3; ++r)
    BOOST_TEST(out->experts[r * config.top_k] == 11u);
}

BOOST_FIXTURE_TEST_CASE(a_router_score_that_is_no_number_is_an_error, fixture) {
  const auto& config = model.backbone->config.router;
  std::vector<float> logits(2 * config.num_experts, 0.0F);
  logits[config.num_experts] = std::numeric_limits<float>::quiet_NaN();
  const auto out = route(config, asking(logits), pool);
  BOOST_TEST_REQUIRE(!out.has_value());
  BOOST_TEST((out.error().code == ec::not_finite));
  BOOST_TEST(out.error().message.find("row 1") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
