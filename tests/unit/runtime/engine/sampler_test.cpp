// The sampler against the exact distribution, at the edges of its filters,
// and against published numbers of its generator.
#include "runtime/engine/sampler.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

using namespace troupe;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

token_id sampled(const std::vector<float>& logits, const sampling_params& x,
                 draw_key key) {
  sampler s;
  auto out = s.sample(logits, x, key);
  BOOST_REQUIRE(out.has_value());
  return *out;
}

/// How often each token comes in `draws` positions.
std::vector<size_t> histogram(const std::vector<float>& logits,
                              const sampling_params& x, size_t draws) {
  std::vector<size_t> out(logits.size());
  sampler s;
  for (uint64_t position = 0; position < draws; ++position) {
    auto id = s.sample(logits, x, {0, position});
    BOOST_REQUIRE(id.has_value());
    ++out[static_cast<size_t>(*id)];
  }
  return out;
}

std::vector<double> softmax(const std::vector<float>& logits,
                            double temperature) {
  std::vector<double> out;
  for (auto x : logits)
    out.push_back(std::exp(double{x} / temperature));
  auto total = std::accumulate(out.begin(), out.end(), 0.0);
  for (auto& x : out)
    x /= total;
  return out;
}

/// Pearson's statistic; tokens of probability 0 must not come at all.
double chi_square(const std::vector<size_t>& counts,
                  const std::vector<double>& probabilities) {
  auto draws = std::accumulate(counts.begin(), counts.end(), size_t{0});
  double out = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0) {
      BOOST_TEST(counts[i] == 0u);
      continue;
    }
    auto expected = probabilities[i] * static_cast<double>(draws);
    auto off = static_cast<double>(counts[i]) - expected;
    out += off * off / expected;
  }
  return out;
}

const std::vector<float> eight_logits = {0.3f, 2.0f, -1.0f, 1.1f,
                                         0.0f, 1.9f, -0.4f, 0.7f};

} // namespace

BOOST_AUTO_TEST_SUITE(sampler_suite)

// Known answers of the generator's authors (Random123, kat_vectors).
BOOST_AUTO_TEST_CASE(the_generator_gives_its_published_numbers) {
  using four = std::array<uint32_t, 4>;
  BOOST_TEST((philox4x32({0, 0, 0, 0}, {0, 0}) ==
              four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  BOOST_TEST((philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
              four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST((philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0}) ==
              four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(draws_are_uniform_and_differ_with_each_part_of_the_key) {
  std::vector<size_t> counts(64);
  for (uint64_t i = 0; i < 64000; ++i) {
    auto x = uniform_draw(7, {0, i});
    BOOST_REQUIRE((x >= 0 && x < 1));
    ++counts[static_cast<size_t>(x * 64)];
  }
  BOOST_TEST(chi_square(counts, std::vector<double>(64, 1.0 / 64)) < 120);
  auto base = uniform_draw(1, {2, 3});
  BOOST_TEST(base != uniform_draw(9, {2, 3}));
  BOOST_TEST(base != uniform_draw(1, {9, 3}));
  BOOST_TEST(base != uniform_draw(1, {2, 9}));
  BOOST_TEST(base != uniform_draw(1 + (uint64_t{1} << 32), {2, 3}));
  BOOST_TEST(base != uniform_draw(1, {2, 3 + (uint64_t{1} << 32)}));
  BOOST_TEST(base == uniform_draw(1, {2, 3}));
}

// 0.999 quantiles: 24.3 for 7 degrees of freedom, 13.8 for 2.
BOOST_AUTO_TEST_CASE(samples_follow_the_softmax) {
  for (float temperature : {0.5f, 1.0f, 2.0f}) {
    sampling_params x;
    x.temperature = temperature;
    x.seed = 42;
    auto counts = histogram(eight_logits, x, 40000);
    BOOST_TEST(chi_square(counts, softmax(eight_logits, double{temperature})) <
               24.3);
  }
}

BOOST_AUTO_TEST_CASE(each_filter_leaves_the_distribution_of_the_rest) {
  // The best three are tokens 1, 5 and 3.
  std::vector<float> three(8, -infinity);
  for (size_t i : {1u, 5u, 3u})
    three[i] = eight_logits[i];
  auto expected = softmax(three, 1.0);
  sampling_params top_k;
  top_k.temperature = 1;
  top_k.seed = 5;
  sampling_params top_p = top_k;
  sampling_params min_p = top_k;
  top_k.top_k = 3;
  top_p.top_p = 0.75f; // two have 0.63, three have 0.76
  min_p.min_p = 0.3f;  // the third has exp(-0.9) = 0.41, the fourth 0.27
  for (const auto& x : {top_k, top_p, min_p})
    BOOST_TEST(chi_square(histogram(eight_logits, x, 20000), expected) < 13.8);
}

BOOST_AUTO_TEST_CASE(filters_work_one_after_the_other) {
  sampling_params x;
  x.temperature = 1;
  x.top_k = 3;
  x.top_p = 0.8f; // of the three: the best two have 0.82
  std::vector<float> two(8, -infinity);
  for (size_t i : {1u, 5u})
    two[i] = eight_logits[i];
  // 0.999 quantile for 1 degree of freedom
  BOOST_TEST(chi_square(histogram(eight_logits, x, 20000), softmax(two, 1.0)) <
             10.8);
}

BOOST_AUTO_TEST_CASE(greedy_takes_the_lower_id_of_equals) {
  sampling_params x;
  BOOST_TEST(sampled({1, 3, 2, 3}, x, {}) == 1);
  BOOST_TEST(sampled({-infinity, -infinity, -5}, x, {}) == 2);
  x.temperature = 1;
  x.top_k = 1;
  BOOST_TEST(sampled({1, 3, 2, 3}, x, {}) == 1);
  x.top_k = 0;
  x.temperature = 1e-30f; // as good as greedy
  BOOST_TEST(sampled({1, 3, 2, 3}, x, {}) == 1);
}

BOOST_AUTO_TEST_CASE(equals_at_the_edge_of_a_filter_go_by_id) {
  sampling_params x;
  x.temperature = 1;
  x.top_k = 2;
  auto counts = histogram({0, 1, 1, 1}, x, 200);
  BOOST_TEST(counts[0] + counts[3] == 0u);
  x.top_k = 0;
  x.top_p = 0.2f; // the first of the three equals has 0.3
  counts = histogram({0, 1, 1, 1}, x, 200);
  BOOST_TEST(counts[1] == 200u);
}

BOOST_AUTO_TEST_CASE(top_k_of_a_large_vocabulary_is_that_of_a_full_sort) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) // few values, many ties
    logits[i] = std::floor(static_cast<float>(uniform_draw(4, {0, i})) * 50);
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return logits[x] > logits[y]; });
  for (size_t k : {2u, 5u, 150u, 4000u}) {
    sampling_params x;
    x.temperature = 100;
    x.top_k = static_cast<uint32_t>(k);
    auto counts = histogram(logits, x, 40 * std::min<size_t>(k, 20));
    size_t outside = 0;
    for (size_t i = k; i < order.size(); ++i)
      outside += counts[order[i]];
    BOOST_TEST(outside == 0u);
    size_t missing = 0;
    for (size_t i = 0; i < std::min<size_t>(k, 5); ++i)
      missing += counts[order[i]] == 0;
    BOOST_TEST((k > 20 || missing == 0u));
  }
}

BOOST_AUTO_TEST_CASE(filters_at_their_ends_keep_all_or_the_best_one) {
  sampling_params all;
  all.temperature = 1;
  all.top_k = 1000;
  sampling_params plain = all;
  plain.top_k = 0;
  sampling_params best = plain;
  best.top_p = std::numeric_limits<float>::min();
  sampling_params best_by_min_p = plain;
  best_by_min_p.min_p = 1;
  for (uint64_t i = 0; i < 200; ++i) {
    BOOST_TEST(sampled(eight_logits, all, {0, i}) ==
               sampled(eight_logits, plain, {0, i}));
    BOOST_TEST(sampled(eight_logits, best, {0, i}) == 1);
    BOOST_TEST(sampled(eight_logits, best_by_min_p, {0, i}) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_masked_token_never_comes) {
  sampling_params x;
  x.temperature = 100;
  auto counts = histogram({0, -infinity, 0, -infinity}, x, 1000);
  BOOST_TEST(counts[1] + counts[3] == 0u);
  BOOST_TEST(counts[0] > 400u);
}

BOOST_AUTO_TEST_CASE(a_large_vocabulary_is_cut_where_a_full_sort_cuts_it) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(uniform_draw(3, {0, i}));
  // Nearly flat: the head has most of the tokens, many sorting blocks.
  auto p = softmax(logits, 1.0);
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return logits[x] > logits[y]; });
  double sum = 0;
  size_t kept = 0;
  while (sum < 0.5)
    sum += p[order[kept++]];
  std::vector<bool> allowed(logits.size());
  for (size_t i = 0; i < kept + 2; ++i) // f32 weights: two of leeway
    allowed[order[i]] = true;
  sampling_params x;
  x.temperature = 1;
  x.top_p = 0.5f;
  auto counts = histogram(logits, x, 2000);
  for (size_t i = 0; i < counts.size(); ++i)
    BOOST_TEST((counts[i] == 0 || allowed[i]));
}

BOOST_AUTO_TEST_CASE(a_used_sampler_gives_what_a_new_one_gives) {
  sampling_params x;
  x.temperature = 1;
  x.seed = 11;
  x.top_p = 0.9f;
  sampler used;
  for (uint64_t i = 0; i < 100; ++i) {
    auto other = used.sample(std::vector<float>(1000, 1.0f), x, {1, i});
    BOOST_REQUIRE(other.has_value());
    BOOST_TEST(*used.sample(eight_logits, x, {0, i}) ==
               sampled(eight_logits, x, {0, i}));
  }
}

BOOST_AUTO_TEST_CASE(logits_that_are_no_numbers_are_an_error) {
  sampling_params greedy;
  sampling_params random;
  random.temperature = 1;
  sampler s;
  for (const auto& x : {greedy, random})
    for (const auto& logits : {std::vector<float>{not_a_number, 1},
                               std::vector<float>{1, 2, not_a_number},
                               std::vector<float>{1, infinity},
                               std::vector<float>{-infinity, -infinity}}) {
      auto out = s.sample(logits, x, {});
      BOOST_REQUIRE(!out.has_value());
      BOOST_TEST((out.error().code == ec::not_finite));
    }
}

BOOST_AUTO_TEST_CASE(nll_is_the_negative_log_of_the_softmax) {
  auto p = softmax(eight_logits, 1.0);
  for (size_t i = 0; i < p.size(); ++i) {
    auto x = nll(eight_logits, static_cast<token_id>(i));
    BOOST_REQUIRE(x.has_value());
    BOOST_TEST(*x == -std::log(p[i]), boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(*nll(std::vector<float>{1000, 0}, 1) == 1000.0);
  BOOST_TEST(!nll(eight_logits, 8).has_value());
  BOOST_TEST(!nll(eight_logits, -1).has_value());
  BOOST_TEST(!nll(std::vector<float>{not_a_number, 1}, 1).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
