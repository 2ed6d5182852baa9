// Latent attention, where the value is the head of the stored key: equal bits
// for every ISA, chunking, batch and number of lanes, equal to grouped
// attention with the values stored once more, close to double arithmetic.
#include "attention_support.hpp"
#include "kernels/reference/attention.hpp"

#include <cmath>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(attending_to_latents)

namespace {

constexpr auto leading = kv_values::leading_keys;

const std::vector<shape> shapes{
  {4, 1, 72, dtype::bf16, 64, leading},  {16, 1, 40, dtype::f32, 32, leading},
  {24, 1, 19, dtype::bf16, 14, leading}, {96, 1, 20, dtype::bf16, 13, leading},
  {6, 2, 20, dtype::f32, 12, leading},   {5, 1, 17, dtype::bf16, 0, leading},
};

/// As large as real models have it.
const shape real{16, 1, 576, dtype::bf16, 512, leading};

template <class F>
void for_all(random_rows& random, size_t tokens, F f) {
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, tokens);
    for (const variant& v : variants) {
      v.apply(x);
      f(x, std::string(v.name) + ", heads " + std::to_string(s.heads));
    }
  }
}

void expect_bits_of_the_rule(sequence_data& x, const std::string& name) {
  lanes pool({.count = 2});
  const test_cache cache = full_cache(x);
  const auto rows = cache.rows(x.tokens);
  const auto& q = x.q;
  std::vector<float> want(x.tokens * x.out_cols());
  reference::attention(x.options, rows, rows_of(q, x.q_cols()),
                       as_output(want.data(), x.tokens, x.out_cols()));
  for (const isa level : all_isas()) {
    x.options.isa = level;
    std::vector<float> out(want.size());
    std::vector<bf16> out_bf16(want.size());
    attention(x.options, rows, rows_of(q, x.q_cols()),
              as_output(out.data(), x.tokens, x.out_cols()), pool);
    attention(x.options, rows, rows_of(q, x.q_cols()),
              as_output(out_bf16.data(), x.tokens, x.out_cols()), pool);
    BOOST_TEST(differing(out, want) == 0, to_string(level) << " " << name);
    BOOST_TEST(differing(out_bf16, rounded(want)) == 0, to_string(level)
                                                          << " " << name);
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_rule) {
  random_rows random(81);
  const flush_denormals_scope flush;
  for_all(random, 130, [](sequence_data& x, const std::string& name) {
    expect_bits_of_the_rule(x, name);
  });
  auto x = random_sequence(random, real, 66);
  expect_bits_of_the_rule(x, "real size");
}

BOOST_AUTO_TEST_CASE(values_stored_once_more_give_the_same_bits) {
  random_rows random(82);
  lanes pool({.count = 2});
  for_all(random, 140, [&](sequence_data& x, const std::string& name) {
    const auto want = run(x, x.tokens, pool);
    auto copied = x;
    const kv_layout& layout = x.options.layout;
    copied.options.layout.values = kv_values::own;
    for (size_t key = 0; key < x.k.size(); key += layout.head_dim)
      copied.v.insert(copied.v.end(), x.k.data() + key,
                      x.k.data() + key + layout.value_size());
    BOOST_TEST(differing(run(copied, x.tokens, pool), want) == 0, name);
  });
}

BOOST_AUTO_TEST_CASE(results_agree_with_double_arithmetic) {
  random_rows random(83);
  lanes pool({.count = 1});
  const auto check = [&](const sequence_data& x, const std::string& name) {
    const auto out = run(x, x.tokens, pool);
    const test_cache cache = full_cache(x);
    const auto want = reference::attention_f64(x.options, cache.rows(x.tokens),
                                               rows_of(x.q, x.q_cols()));
    BOOST_REQUIRE(out.size() == want.size());
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, std::abs(out[i] - want[i]));
    BOOST_TEST(worst < 4e-5, name << ": worst error " << worst);
  };
  for_all(random, 150, check);
  check(random_sequence(random, real, 70), "real size");
}

BOOST_AUTO_TEST_CASE(the_chunking_of_a_prompt_and_the_lanes_change_no_bit) {
  random_rows random(84);
  lanes alone({.count = 0});
  // More lanes cut the heads of a row into more tasks.
  lanes few({.count = 2});
  lanes many({.count = 9});
  for_all(random, 140, [&](sequence_data& x, const std::string& name) {
    const auto whole = run(x, x.tokens, alone);
    for (const size_t chunk : {1u, 9u, 64u, 100u}) {
      BOOST_TEST(differing(run(x, chunk, few), whole) == 0, name);
      if (chunk > 1)
        BOOST_TEST(differing(run(x, chunk, many), whole) == 0, name);
    }
    const test_cache cache = full_cache(x);
    const auto last = attend(x, cache, {x.tokens - 1}, many);
    BOOST_TEST(differing(std::span(last), std::span(whole).last(last.size())) ==
                 0,
               name);
  });
}

BOOST_AUTO_TEST_CASE(rows_of_any_batch_keep_their_bits) {
  random_rows random(85);
  lanes pool({.count = 1});
  for_all(random, 200, [&](sequence_data& x, const std::string& name) {
    const test_cache cache = full_cache(x);
    const auto whole = run(x, x.tokens, pool);
    std::vector<size_t> positions;
    std::vector<float> want;
    for (size_t i = 0; i < 30; ++i) {
      positions.push_back(random.below(x.tokens));
      const float* from = whole.data() + positions.back() * x.out_cols();
      want.insert(want.end(), from, from + x.out_cols());
    }
    BOOST_TEST(differing(attend(x, cache, positions, pool), want) == 0, name);
  });
}

BOOST_AUTO_TEST_CASE(nan_in_a_latent_reaches_no_row_that_does_not_see_it) {
  random_rows random(86);
  lanes pool({.count = 0});
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, 150);
    x.options.window = 40;
    const auto clean = run(x, 150, pool);
    auto bad = x;
    std::fill_n(bad.k.data() + 70 * x.k_cols(), x.k_cols(),
                std::numeric_limits<float>::quiet_NaN());
    const auto out = run(bad, 150, pool);
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t row = i / x.out_cols();
      if (row < 70 || row >= 110)
        BOOST_REQUIRE(same_bits(out[i], clean[i]));
      else
        BOOST_REQUIRE(std::isnan(out[i]));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
