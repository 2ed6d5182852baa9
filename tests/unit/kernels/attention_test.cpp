// Attention: equal bits for every ISA, chunking, batch and number of lanes,
// equal to the scalar rule, close to double arithmetic, blind to the future.
#include "kernels/attention.hpp"

#include "attention_support.hpp"
#include "kernels/reference/attention.hpp"

#include <cmath>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(attending)

namespace {

const std::vector<shape> shapes{
  {4, 2, 16, dtype::bf16},  {4, 2, 16, dtype::f32}, {8, 1, 64, dtype::bf16},
  {3, 3, 20, dtype::bf16},  {6, 2, 13, dtype::f32}, {32, 4, 128, dtype::bf16},
  {24, 1, 40, dtype::bf16}, {5, 1, 96, dtype::f32},
};

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_rule) {
  random_rows random(61);
  const flush_denormals_scope flush;
  lanes pool({.count = 2});
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, s.heads > 8 ? 70 : 131);
    test_cache cache(x.options.layout, x.tokens);
    std::vector<attention_row> rows;
    for (size_t i = 0; i < x.tokens; ++i)
      rows.push_back(cache.row(i));
    store_kv(x.options.layout, rows, rows_of(x.k, x.k_cols()),
             rows_of(x.v, x.k_cols()), pool);
    const auto& q = x.q;
    std::vector<float> want(q.size());
    std::vector<bf16> want_bf16(q.size());
    reference::attention(x.options, rows, rows_of(q, x.q_cols()),
                         as_output(want.data(), x.tokens, x.q_cols()));
    reference::attention(x.options, rows, rows_of(q, x.q_cols()),
                         as_output(want_bf16.data(), x.tokens, x.q_cols()));
    for (const isa level : all_isas()) {
      x.options.isa = level;
      std::vector<float> out(q.size());
      std::vector<bf16> out_bf16(q.size());
      attention(x.options, rows, rows_of(q, x.q_cols()),
                as_output(out.data(), x.tokens, x.q_cols()), pool);
      attention(x.options, rows, rows_of(q, x.q_cols()),
                as_output(out_bf16.data(), x.tokens, x.q_cols()), pool);
      BOOST_TEST(differing(out, want) == 0, to_string(level)
                                              << " head_dim " << s.head_dim);
      BOOST_TEST(differing(out_bf16, want_bf16) == 0,
                 to_string(level) << " head_dim " << s.head_dim);
    }
  }
}

BOOST_AUTO_TEST_CASE(results_agree_with_double_arithmetic) {
  random_rows random(62);
  lanes pool({.count = 1});
  for (const shape& s : shapes) {
    const auto x = random_sequence(random, s, 150);
    const auto out = run(x, 150, pool);
    test_cache cache(x.options.layout, x.tokens);
    std::vector<attention_row> rows;
    for (size_t i = 0; i < x.tokens; ++i)
      rows.push_back(cache.row(i));
    store_kv(x.options.layout, rows, rows_of(x.k, x.k_cols()),
             rows_of(x.v, x.k_cols()), pool);
    const auto want =
      reference::attention_f64(x.options, rows, rows_of(x.q, x.q_cols()));
    double worst = 0;
    for (size_t i = 0; i < want.size(); ++i)
      worst = std::max(worst, std::abs(out[i] - want[i]));
    BOOST_TEST(worst < 2e-5, "worst error " << worst);
  }
}

BOOST_AUTO_TEST_CASE(the_chunking_of_a_prompt_changes_no_bit) {
  random_rows random(63);
  lanes pool({.count = 2});
  for (const shape& s : shapes) {
    const auto x = random_sequence(random, s, 203);
    const auto whole = run(x, x.tokens, pool);
    for (const size_t chunk : {1u, 7u, 64u, 100u})
      BOOST_TEST(differing(run(x, chunk, pool), whole) == 0,
                 "chunk " << chunk << " head_dim " << s.head_dim);
  }
}

BOOST_AUTO_TEST_CASE(the_number_of_lanes_changes_no_bit) {
  random_rows random(64);
  const auto x = random_sequence(random, {32, 4, 128, dtype::bf16}, 150);
  lanes alone({.count = 0});
  const auto want = run(x, 33, alone);
  for (const size_t count : {1u, 2u, 3u}) {
    lanes pool({.count = count});
    BOOST_TEST(differing(run(x, 33, pool), want) == 0);
  }
}

BOOST_AUTO_TEST_CASE(other_sequences_in_the_batch_change_no_bit) {
  random_rows random(65);
  lanes pool({.count = 2});
  const shape s{8, 2, 32, dtype::bf16};
  const std::vector<size_t> lengths{1, 64, 65, 130, 7};
  std::vector<sequence_data> all;
  std::vector<test_cache> caches;
  std::vector<attention_row> rows;
  std::vector<float> q;
  for (const size_t n : lengths) {
    all.push_back(random_sequence(random, s, n));
    caches.emplace_back(all.back().options.layout, n);
  }
  const size_t cols = all[0].q_cols();
  std::vector<float> want;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<attention_row> own;
    for (size_t t = 0; t < lengths[i]; ++t)
      own.push_back(caches[i].row(t));
    store_kv(all[i].options.layout, own, rows_of(all[i].k, all[i].k_cols()),
             rows_of(all[i].v, all[i].k_cols()), pool);
    // The last row decodes, among rows of the others and the earlier ones.
    rows.push_back(own.back());
    const auto last = static_cast<std::ptrdiff_t>((lengths[i] - 1) * cols);
    q.insert(q.end(), all[i].q.begin() + last, all[i].q.end());
    const auto out = run(all[i], lengths[i], pool);
    want.insert(want.end(), out.begin() + last, out.end());
  }
  std::vector<float> out(q.size());
  const auto& queries = q;
  attention(all[0].options, rows, rows_of(queries, cols),
            as_output(out.data(), rows.size(), cols), pool);
  BOOST_TEST(differing(out, want) == 0);
}

BOOST_AUTO_TEST_CASE(rows_in_any_order_keep_their_bits) {
  random_rows random(66);
  lanes pool({.count = 1});
  const auto x = random_sequence(random, {6, 2, 24, dtype::bf16}, 140);
  const auto whole = run(x, x.tokens, pool);
  test_cache cache(x.options.layout, x.tokens);
  std::vector<attention_row> rows;
  for (size_t i = 0; i < x.tokens; ++i)
    rows.push_back(cache.row(i));
  store_kv(x.options.layout, rows, rows_of(x.k, x.k_cols()),
           rows_of(x.v, x.k_cols()), pool);
  const size_t cols = x.q_cols();
  std::vector<attention_row> mixed;
  std::vector<float> q;
  std::vector<float> want;
  for (size_t i = 0; i < 40; ++i) {
    const size_t position = random.below(x.tokens);
    const auto at = static_cast<std::ptrdiff_t>(position * cols);
    const auto end = at + static_cast<std::ptrdiff_t>(cols);
    mixed.push_back(rows[position]);
    q.insert(q.end(), x.q.begin() + at, x.q.begin() + end);
    want.insert(want.end(), whole.begin() + at, whole.begin() + end);
  }
  std::vector<float> out(q.size());
  const auto& queries = q;
  attention(x.options, mixed, rows_of(queries, cols),
            as_output(out.data(), mixed.size(), cols), pool);
  BOOST_TEST(differing(out, want) == 0);
}

BOOST_AUTO_TEST_CASE(nan_keys_and_values_reach_no_earlier_row) {
  random_rows random(67);
  lanes pool({.count = 0});
  for (const shape& s : shapes) {
    auto x = random_sequence(random, s, 90);
    const auto clean = run(x, 90, pool);
    for (const size_t bad : {1u, 64u, 77u}) {
      auto poisoned = x;
      const auto first = static_cast<std::ptrdiff_t>(bad * x.k_cols());
      for (auto* rows : {&poisoned.k, &poisoned.v})
        std::fill(rows->begin() + first,
                  rows->begin() + first +
                    static_cast<std::ptrdiff_t>(x.k_cols()),
                  std::numeric_limits<float>::quiet_NaN());
      const auto out = run(poisoned, 90, pool);
      const size_t before = bad * x.q_cols();
      BOOST_TEST(differing(std::span(out).first(before),
                           std::span(clean).first(before)) == 0);
      for (size_t i = before; i < out.size(); ++i)
        BOOST_REQUIRE(std::isnan(out[i]));
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_may_share_a_block_at_different_offsets) {
  random_rows random(68);
  lanes pool({.count = 0});
  const auto x = random_sequence(random, {4, 2, 16, dtype::bf16}, 40);
  const auto want = run(x, 40, pool);
  const kv_layout& layout = x.options.layout;
  aligned_buffer block(3 * layout.block_bytes());
  std::byte* const blocks[] = {block.data()};
  for (size_t layer = 0; layer < 3; ++layer) {
    std::vector<attention_row> rows;
    for (size_t i = 0; i < 40; ++i)
      rows.push_back({i, {blocks, layer * layout.block_bytes()}});
    store_kv(layout, rows, rows_of(x.k, x.k_cols()), rows_of(x.v, x.k_cols()),
             pool);
    std::vector<float> out(want.size());
    attention(x.options, rows, rows_of(x.q, x.q_cols()),
              as_output(out.data(), 40, x.q_cols()), pool);
    BOOST_TEST(differing(out, want) == 0);
  }
}

BOOST_AUTO_TEST_CASE(large_scores_neither_overflow_nor_vanish) {
  lanes pool({.count = 0});
  const kv_layout layout{1, 16, dtype::f32};
  test_cache cache(layout, 130);
  std::vector<attention_row> rows;
  for (size_t i = 0; i < 130; ++i)
    rows.push_back(cache.row(i));
  std::vector<float> k(130 * 16);
  std::vector<float> v(130 * 16);
  for (size_t i = 0; i < k.size(); ++i) {
    k[i] = static_cast<float>(i / 16) * 10.0f;
    v[i] = static_cast<float>(i / 16);
  }
  const std::vector<float> q(130 * 16, 1.0f);
  const auto& keys = k;
  const auto& values = v;
  store_kv(layout, rows, rows_of(keys, 16), rows_of(values, 16), pool);
  std::vector<float> out(q.size());
  attention({.layout = layout, .heads = 1}, rows, rows_of(q, 16),
            as_output(out.data(), 130, 16), pool);
  // Each row's own key wins by 160: the result is its own value.
  for (size_t i = 0; i < 130; ++i)
    BOOST_TEST(out[i * 16] == static_cast<float>(i));
}

BOOST_AUTO_TEST_SUITE_END()
