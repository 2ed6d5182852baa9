// The gated delta rule: equal bits on every ISA, for rows one at a time or
// together, in any company; close to double arithmetic.
#include "kernels/gated_delta.hpp"

#include "kernels/reference/gated_delta.hpp"
#include "row_support.hpp"

#include <cmath>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(gated_delta_test)

namespace {

struct delta_shape {
  size_t key_heads, value_heads, key_dim, value_dim;
};

struct delta_case {
  size_t rows;
  std::vector<float> q, k, v, a, b, a_log, dt_bias, state;
  gated_delta_options options;

  delta_case(random_rows& random, const delta_shape& s, size_t count)
    : rows(count), q(random.normal(count * s.key_heads * s.key_dim)),
      k(random.normal(count * s.key_heads * s.key_dim)),
      v(random.normal(count * s.value_heads * s.value_dim)),
      a(random.normal(count * s.value_heads, 2.0f)),
      b(random.normal(count * s.value_heads)),
      a_log(random.normal(s.value_heads)),
      dt_bias(random.normal(s.value_heads)) {
    options.key_heads = s.key_heads;
    options.value_heads = s.value_heads;
    options.key_dim = s.key_dim;
    options.value_dim = s.value_dim;
    options.a_log = a_log;
    options.dt_bias = dt_bias;
    state = random_state(random);
  }

  std::vector<float> random_state(random_rows& random) const {
    const auto& o = options;
    const auto values = random.normal(o.value_heads * o.key_dim * o.value_dim);
    std::vector<float> out(o.state_size());
    size_t next = 0;
    for (size_t head = 0; head < o.value_heads; ++head)
      for (size_t i = 0; i < o.key_dim; ++i)
        for (size_t j = 0; j < o.value_dim; ++j)
          out[o.state_at(head, i, j)] = values[next++];
    return out;
  }

  gated_delta_input input(size_t first, size_t count) const {
    const auto cut = [&](const std::vector<float>& x) {
      const size_t cols = x.size() / rows;
      return matrix_view<const float>{x.data() + first * cols, count, cols,
                                      cols};
    };
    return {cut(q), cut(k), cut(v), cut(a), cut(b)};
  }
};

struct delta_result {
  std::vector<float> y, state;

  explicit delta_result(const delta_case& c) : y(c.v.size()), state(c.state) {
    // nop
  }
  matrix_view<float> out(const delta_case& c, size_t first, size_t count) {
    const size_t cols = y.size() / c.rows;
    return {y.data() + first * cols, count, cols, cols};
  }
  bool operator==(const delta_result& other) const {
    return differing(y, other.y) == 0 && differing(state, other.state) == 0;
  }
};

delta_result definition(const delta_case& c) {
  delta_result out(c);
  const sequence_run run{c.rows, c.state, out.state};
  reference::gated_delta(c.options, c.input(0, c.rows), {&run, 1},
                         out.out(c, 0, c.rows));
  return out;
}

/// `step` rows at a time, the state updated in place.
delta_result in_steps(const delta_case& c, size_t step, lanes& pool) {
  delta_result out(c);
  for (size_t first = 0; first < c.rows; first += step) {
    const size_t count = std::min(step, c.rows - first);
    const sequence_run run{count, out.state, out.state};
    gated_delta(c.options, c.input(first, count), {&run, 1},
                out.out(c, first, count), pool);
  }
  return out;
}

/// The recurrence of one value head in doubles; the state changes.
std::vector<double> naive(const delta_case& c, size_t head,
                          std::vector<double>& state) {
  const auto& o = c.options;
  const size_t dk = o.key_dim, dv = o.value_dim;
  const size_t key_at = head / (o.value_heads / o.key_heads) * dk;
  std::vector<double> y;
  for (size_t t = 0; t < c.rows; ++t) {
    const float* k = c.k.data() + t * o.key_heads * dk + key_at;
    const float* q = c.q.data() + t * o.key_heads * dk + key_at;
    double kk = 1e-6, qq = 1e-6;
    for (size_t i = 0; i < dk; ++i) {
      kk += double{k[i]} * k[i];
      qq += double{q[i]} * q[i];
    }
    const size_t gate = t * o.value_heads + head;
    const double step =
      std::log1p(std::exp(double{c.a[gate]} + c.dt_bias[head]));
    const double decay = std::exp(-std::exp(double{c.a_log[head]}) * step);
    const double beta = 1.0 / (1.0 + std::exp(-double{c.b[gate]}));
    for (double& s : state)
      s *= decay;
    for (size_t j = 0; j < dv; ++j) {
      double recalled = 0, sum = 0;
      for (size_t i = 0; i < dk; ++i)
        recalled += k[i] / std::sqrt(kk) * state[i * dv + j];
      const double change =
        (c.v[(t * o.value_heads + head) * dv + j] - recalled) * beta;
      for (size_t i = 0; i < dk; ++i) {
        state[i * dv + j] += k[i] / std::sqrt(kk) * change;
        sum +=
          q[i] / std::sqrt(qq * static_cast<double>(dk)) * state[i * dv + j];
      }
      y.push_back(sum);
    }
  }
  return y;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_and_chunk_gives_the_bits_of_the_definition) {
  random_rows random(61);
  const flush_denormals_scope flush;
  lanes pool({.count = 2});
  for (const delta_shape& shape :
       {delta_shape{1, 1, 1, 1}, delta_shape{1, 2, 5, 7},
        delta_shape{2, 4, 64, 33}, delta_shape{1, 2, 128, 128},
        delta_shape{2, 2, 30, 80}}) {
    delta_case c(random, shape, 35);
    const auto want = definition(c);
    for (const isa level : all_isas()) {
      c.options.isa = level;
      for (const size_t step : {1u, 7u, 16u, 35u})
        BOOST_TEST((in_steps(c, step, pool) == want),
                   to_string(level)
                     << " key_dim=" << shape.key_dim
                     << " value_dim=" << shape.value_dim << " step=" << step);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_rule_agrees_with_double_arithmetic) {
  random_rows random(62);
  lanes pool({.count = 0});
  const delta_case c(random, {2, 6, 32, 24}, 50);
  const auto got = in_steps(c, 50, pool);
  for (size_t head = 0; head < c.options.value_heads; ++head) {
    const auto at = [&](size_t i) {
      return c.options.state_at(head, i / 24, i % 24);
    };
    std::vector<double> state(c.options.key_dim * 24);
    for (size_t i = 0; i < state.size(); ++i)
      state[i] = c.state[at(i)];
    const auto want = naive(c, head, state);
    for (size_t t = 0; t < c.rows; ++t)
      for (size_t j = 0; j < 24; ++j)
        BOOST_REQUIRE(
          std::abs(got.y[(t * 6 + head) * 24 + j] - want[t * 24 + j]) < 1e-5);
    for (size_t i = 0; i < state.size(); ++i)
      BOOST_REQUIRE(std::abs(got.state[at(i)] - state[i]) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(a_key_written_fully_is_read_back) {
  random_rows random(63);
  lanes pool({.count = 0});
  delta_case c(random, {1, 1, 16, 8}, 1);
  c.state.assign(c.state.size(), 0.0f);
  c.q = c.k;
  c.b = {40.0f}; // the gate is open
  const auto got = in_steps(c, 1, pool);
  for (size_t j = 0; j < 8; ++j)
    BOOST_TEST(std::abs(got.y[j] - c.v[j] / 4.0f) < 1e-5);
}

BOOST_AUTO_TEST_CASE(sequences_of_a_batch_do_not_meet) {
  random_rows random(64);
  const flush_denormals_scope flush;
  lanes alone({.count = 0}), two({.count = 2});
  const delta_case all(random, {2, 4, 24, 40}, 21);
  const std::vector<size_t> rows{1, 18, 2};
  std::vector<std::vector<float>> before, after;
  for (size_t i = 0; i < 3; ++i) {
    before.push_back(all.random_state(random));
    after.emplace_back(all.options.state_size());
  }
  std::vector<sequence_run> runs;
  for (size_t i = 0; i < 3; ++i)
    runs.push_back({rows[i], before[i], after[i]});
  delta_result together(all), single(all);
  gated_delta(all.options, all.input(0, 21), runs, together.out(all, 0, 21),
              two);
  size_t first = 0;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<float> state(all.options.state_size());
    const sequence_run run{rows[i], before[i], state};
    gated_delta(all.options, all.input(first, rows[i]), {&run, 1},
                single.out(all, first, rows[i]), alone);
    BOOST_TEST(differing(state, after[i]) == 0);
    first += rows[i];
  }
  BOOST_TEST(differing(together.y, single.y) == 0);
}

BOOST_AUTO_TEST_CASE(columns_of_a_wider_product_can_be_the_input) {
  random_rows random(65);
  const flush_denormals_scope flush;
  lanes pool({.count = 0});
  const delta_case c(random, {1, 1, 12, 20}, 3);
  const auto want = in_steps(c, 3, pool);
  std::vector<float> wide;
  for (size_t t = 0; t < 3; ++t) {
    wide.insert(wide.end(), c.q.begin() + 12 * static_cast<int>(t),
                c.q.begin() + 12 * static_cast<int>(t + 1));
    wide.insert(wide.end(), c.k.begin() + 12 * static_cast<int>(t),
                c.k.begin() + 12 * static_cast<int>(t + 1));
    wide.insert(wide.end(), c.v.begin() + 20 * static_cast<int>(t),
                c.v.begin() + 20 * static_cast<int>(t + 1));
  }
  auto input = c.input(0, 3);
  input.q = {wide.data(), 3, 12, 44};
  input.k = {wide.data() + 12, 3, 12, 44};
  input.v = {wide.data() + 24, 3, 20, 44};
  delta_result got(c);
  const sequence_run run{3, c.state, got.state};
  gated_delta(c.options, input, {&run, 1}, got.out(c, 0, 3), pool);
  BOOST_TEST((got == want));
}

BOOST_AUTO_TEST_SUITE_END()
