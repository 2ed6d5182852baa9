// The convolution along a sequence: equal bits on every ISA, for rows one at a
// time or together, in any company; close to double arithmetic.
#include "kernels/short_conv.hpp"

#include "kernels/reference/short_conv.hpp"
#include "row_support.hpp"

#include <cmath>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(short_conv_test)

namespace {

struct conv_case {
  size_t channels;
  std::vector<float> taps, bias, x, state;
  short_conv_options options;

  conv_case(random_rows& random, size_t kernel, size_t rows, size_t count)
    : channels(count), taps(random.normal(kernel * count)),
      bias(random.normal(count)), x(random.normal(rows * count, 2.0f)),
      state(random.normal((kernel - 1) * count, 2.0f)) {
    options.taps = rows_of(taps, channels);
  }

  size_t rows() const {
    return x.size() / channels;
  }
  matrix_view<const float> in(size_t first, size_t count) const {
    return {x.data() + first * channels, count, channels, channels};
  }
};

struct conv_result {
  std::vector<float> y, state;

  bool operator==(const conv_result& other) const {
    return differing(y, other.y) == 0 && differing(state, other.state) == 0;
  }
};

conv_result definition(const conv_case& c) {
  conv_result out{std::vector<float>(c.x.size()), c.state};
  const sequence_run run{c.rows(), c.state, out.state};
  reference::short_conv(c.options, c.in(0, c.rows()), {&run, 1},
                        rows_of(out.y, c.channels));
  return out;
}

/// `step` rows at a time, the state updated in place.
conv_result in_steps(const conv_case& c, size_t step, lanes& pool) {
  conv_result out{std::vector<float>(c.x.size()), c.state};
  for (size_t first = 0; first < c.rows(); first += step) {
    const size_t count = std::min(step, c.rows() - first);
    const sequence_run run{count, out.state, out.state};
    short_conv(
      c.options, c.in(first, count), {&run, 1},
      {out.y.data() + first * c.channels, count, c.channels, c.channels}, pool);
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_and_chunk_gives_the_bits_of_the_definition) {
  random_rows random(51);
  const flush_denormals_scope flush;
  lanes pool({.count = 2});
  for (const size_t kernel : {1u, 2u, 3u, 4u, 7u})
    for (const size_t channels : {1u, 13u, 64u, 300u}) {
      conv_case c(random, kernel, 9, channels);
      for (const auto activation :
           {conv_activation::none, conv_activation::silu}) {
        c.options.activation = activation;
        c.options.bias = activation == conv_activation::none
                           ? std::span<const float>(c.bias)
                           : std::span<const float>();
        const auto want = definition(c);
        for (const isa level : all_isas()) {
          c.options.isa = level;
          for (const size_t step : {1u, 2u, 4u, 9u})
            BOOST_TEST((in_steps(c, step, pool) == want),
                       to_string(level) << " kernel=" << kernel << " channels="
                                        << channels << " step=" << step);
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(the_convolution_agrees_with_double_arithmetic) {
  random_rows random(52);
  lanes pool({.count = 0});
  conv_case c(random, 4, 6, 5);
  c.options.activation = conv_activation::silu;
  c.options.bias = c.bias;
  const auto got = in_steps(c, 6, pool);
  const auto at = [&](size_t row, size_t channel) { // 3 rows of state, then x
    return row < 3 ? double{c.state[row * 5 + channel]}
                   : double{c.x[(row - 3) * 5 + channel]};
  };
  for (size_t t = 0; t < 6; ++t)
    for (size_t channel = 0; channel < 5; ++channel) {
      double sum = c.bias[channel];
      for (size_t j = 0; j < 4; ++j)
        sum += double{c.taps[j * 5 + channel]} * at(t + j, channel);
      const double want = sum / (1.0 + std::exp(-sum));
      BOOST_TEST(std::abs(got.y[t * 5 + channel] - want) < 1e-5);
    }
  for (size_t i = 0; i < 3; ++i)
    for (size_t channel = 0; channel < 5; ++channel)
      BOOST_TEST(got.state[i * 5 + channel] == c.x[(3 + i) * 5 + channel]);
}

BOOST_AUTO_TEST_CASE(sequences_of_a_batch_do_not_meet) {
  random_rows random(53);
  const flush_denormals_scope flush;
  lanes alone({.count = 0}), two({.count = 2});
  constexpr size_t channels = 520;
  conv_case all(random, 3, 8, channels);
  const std::vector<size_t> rows{1, 5, 2};
  std::vector<std::vector<float>> before, after;
  for (size_t i = 0; i < 3; ++i) {
    before.push_back(random.normal(2 * channels));
    after.emplace_back(2 * channels);
  }
  std::vector<sequence_run> runs;
  for (size_t i = 0; i < 3; ++i)
    runs.push_back({rows[i], before[i], after[i]});
  std::vector<float> y(all.x.size());
  short_conv(all.options, all.in(0, 8), runs, rows_of(y, channels), two);
  size_t first = 0;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<float> own(rows[i] * channels), state(2 * channels);
    const sequence_run run{rows[i], before[i], state};
    short_conv(all.options, all.in(first, rows[i]), {&run, 1},
               rows_of(own, channels), alone);
    BOOST_TEST(differing(std::span<const float>(own),
                         std::span<const float>(y).subspan(first * channels,
                                                           own.size())) == 0);
    BOOST_TEST(differing(state, after[i]) == 0);
    first += rows[i];
  }
}

BOOST_AUTO_TEST_SUITE_END()
