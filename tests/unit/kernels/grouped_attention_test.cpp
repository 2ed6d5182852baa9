// Windows, chunks and sinks of grouped attention: equal bits for every ISA,
// chunking, batch and number of lanes, equal to a twin that masks, close to
// double arithmetic.
#include "attention_support.hpp"
#include "kernels/reference/attention.hpp"

#include <cmath>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(attending_in_groups)

namespace {

const std::vector<shape> shapes{
  {4, 2, 16, dtype::bf16},     {8, 1, 64, dtype::bf16},
  {3, 3, 20, dtype::bf16},     {6, 2, 13, dtype::f32},
  {6, 2, 24, dtype::bf16, 16}, {4, 4, 12, dtype::f32, 20},
  {24, 2, 18, dtype::bf16},
};

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Calls f(sequence, description) for every shape and variant.
template <class F>
void for_all(random_rows& random, size_t tokens, F f) {
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, tokens);
    for (const variant& v : variants) {
      v.apply(x);
      f(x, std::string(v.name) + ", head_dim " + std::to_string(s.head_dim));
    }
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_masking) {
  random_rows random(71);
  const flush_denormals_scope flush;
  lanes pool({.count = 2});
  for_all(random, 130, [&](sequence_data& x, const std::string& name) {
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
  });
}

BOOST_AUTO_TEST_CASE(windows_chunks_and_sinks_agree_with_double_arithmetic) {
  random_rows random(72);
  lanes pool({.count = 1});
  for_all(random, 150, [&](sequence_data& x, const std::string& name) {
    const auto out = run(x, x.tokens, pool);
    const test_cache cache = full_cache(x);
    const auto want = reference::attention_f64(x.options, cache.rows(x.tokens),
                                               rows_of(x.q, x.q_cols()));
    BOOST_REQUIRE(out.size() == want.size());
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, std::abs(out[i] - want[i]));
    BOOST_TEST(worst < 2e-5, name << ": worst error " << worst);
  });
}

BOOST_AUTO_TEST_CASE(the_chunking_of_a_prompt_and_the_lanes_change_no_bit) {
  random_rows random(73);
  lanes alone({.count = 0});
  lanes pool({.count = 3});
  for_all(random, 170, [&](sequence_data& x, const std::string& name) {
    const auto whole = run(x, x.tokens, alone);
    for (const size_t chunk : {1u, 9u, 64u, 100u})
      BOOST_TEST(differing(run(x, chunk, pool), whole) == 0,
                 name << ", chunk " << chunk);
  });
}

BOOST_AUTO_TEST_CASE(rows_of_any_batch_keep_their_bits) {
  random_rows random(74);
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

BOOST_AUTO_TEST_CASE(blocks_outside_of_the_window_are_not_read) {
  random_rows random(75);
  lanes pool({.count = 0});
  auto x = random_sequence(random, {8, 2, 32, dtype::bf16}, 400);
  for (const variant& v : std::vector<variant>{
         {"window", 70}, {"chunks", 0, 192}, {"both", 50, 192}}) {
    v.apply(x);
    test_cache cache = full_cache(x);
    const std::vector<size_t> late{399, 390, 398};
    const auto want = attend(x, cache, late, pool);
    const size_t first = x.options.first_visible(390);
    for (size_t block = 0; block < first / kv_block_tokens; ++block)
      cache.lose(block);
    BOOST_TEST(first >= 3 * kv_block_tokens);
    BOOST_TEST(differing(attend(x, cache, late, pool), want) == 0, v.name);
  }
}

BOOST_AUTO_TEST_CASE(nan_before_the_window_reaches_no_row) {
  random_rows random(76);
  lanes pool({.count = 0});
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, 150);
    x.options.window = 40;
    const auto clean = run(x, 150, pool);
    auto bad = x;
    for (const size_t position : {3u, 70u, 100u}) {
      std::fill_n(bad.k.data() + position * x.k_cols(), x.k_cols(),
                  std::numeric_limits<float>::quiet_NaN());
      std::fill_n(bad.v.data() + position * x.v_cols(), x.v_cols(), infinity);
    }
    // Rows from 140 on see positions from 101 on.
    const auto out = run(bad, 150, pool);
    const size_t from = 140 * x.out_cols();
    BOOST_TEST(differing(std::span(out).subspan(from),
                         std::span(clean).subspan(from)) == 0);
    BOOST_TEST(std::isnan(out[139 * x.out_cols()]));
  }
}

BOOST_AUTO_TEST_CASE(a_row_alone_in_its_window_gets_its_own_value) {
  random_rows random(77);
  lanes pool({.count = 1});
  auto x = random_sequence(random, {6, 2, 24, dtype::f32}, 90);
  for (const variant& v :
       std::vector<variant>{{"window", 1}, {"chunks", 0, 1}}) {
    v.apply(x);
    const auto out = run(x, 90, pool);
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t head = i % x.out_cols() / 24;
      const size_t value = i / x.out_cols() * x.v_cols() + head / 3 * 24;
      BOOST_REQUIRE(out[i] == x.v[value + i % 24]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_window_over_everything_is_no_window) {
  random_rows random(78);
  lanes pool({.count = 1});
  auto x = random_sequence(random, {8, 2, 32, dtype::bf16}, 140);
  const auto want = run(x, 140, pool);
  for (const variant& v : std::vector<variant>{
         {"window", 140}, {"more", 100000}, {"chunk", 0, 140}}) {
    v.apply(x);
    BOOST_TEST(differing(run(x, 140, pool), want) == 0, v.name);
  }
}

BOOST_AUTO_TEST_CASE(a_sink_takes_weight_and_gives_no_value) {
  random_rows random(79);
  lanes pool({.count = 0});
  auto x = random_sequence(random, {4, 2, 16, dtype::f32}, 80);
  const auto without = run(x, 80, pool);
  x.options.sinks = x.sinks;
  std::fill(x.sinks.begin(), x.sinks.end(), -infinity);
  BOOST_TEST(differing(run(x, 80, pool), without) == 0);
  // Against scores of 0 a sink of 0 is one more position.
  std::fill(x.q.begin(), x.q.end(), 0.0f);
  x.options.sinks = {};
  const auto means = run(x, 80, pool);
  std::fill(x.sinks.begin(), x.sinks.end(), 0.0f);
  x.options.sinks = x.sinks;
  const auto sunk = run(x, 80, pool);
  for (size_t i = 0; i < means.size(); ++i) {
    const auto seen = static_cast<float>(i / x.out_cols() + 1);
    BOOST_TEST(std::abs(sunk[i] - means[i] * seen / (seen + 1)) < 1e-6);
  }
  // Each head has its own.
  x.sinks[1] = 1000.0f;
  const auto one = run(x, 80, pool);
  for (size_t i = 0; i < one.size(); ++i)
    BOOST_REQUIRE(one[i] == (i % x.out_cols() / 16 == 1 ? 0.0f : sunk[i]));
}

BOOST_AUTO_TEST_SUITE_END()
