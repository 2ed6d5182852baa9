// Norms: equal bits on every ISA, equal to the scalar definition, and close to
// double arithmetic.
#include "kernels/norm.hpp"

#include "kernels/reference/norm.hpp"
#include "row_support.hpp"

#include <cmath>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(norm)

namespace {

/// A norm of the fast kernels or of their twins, as `heads` of n columns.
enum class norm_kind { rms, gated, layer };

struct norm_case {
  norm_kind kind = norm_kind::rms;
  size_t heads = 1;
  std::vector<float> x, gate, weight, bias;

  norm_case(random_rows& random, norm_kind which, size_t n, size_t count)
    : kind(which), heads(count), x(random.normal(4 * count * n)),
      gate(random.normal(x.size(), 3.0f)), weight(random.normal(n)),
      bias(random.normal(n)) {
    // nop
  }

  size_t cols() const {
    return heads * weight.size();
  }

  template <class T>
  std::vector<T> reference() const {
    std::vector<T> y(x.size());
    const auto out = as_output(y.data(), 4, cols());
    const auto in = rows_of(x, cols());
    if (kind == norm_kind::rms)
      reference::rms_norm_heads({}, in, weight, out);
    else if (kind == norm_kind::gated)
      reference::rms_norm_gated({}, {in, rows_of(gate, cols())}, weight, out);
    else
      reference::layer_norm({}, in, {weight, bias}, out);
    return y;
  }

  template <class T>
  std::vector<T> fast(isa level, lanes& pool) const {
    std::vector<T> y(x.size());
    const auto out = as_output(y.data(), 4, cols());
    const auto in = rows_of(x, cols());
    const norm_options options{.isa = level};
    if (kind == norm_kind::rms)
      rms_norm_heads(options, in, weight, out, pool);
    else if (kind == norm_kind::gated)
      rms_norm_gated(options, {in, rows_of(gate, cols())}, weight, out, pool);
    else
      layer_norm(options, in, {weight, bias}, out, pool);
    return y;
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_definition) {
  random_rows random(11);
  lanes pool({.count = 2});
  const flush_denormals_scope flush;
  for (const size_t n : {1u, 5u, 16u, 63u, 64u, 65u, 128u, 200u, 2048u})
    for (const auto kind :
         {norm_kind::rms, norm_kind::gated, norm_kind::layer}) {
      const norm_case norm(random, kind, n, kind == norm_kind::layer ? 1 : 3);
      const auto want = norm.reference<float>();
      const auto want_bf16 = norm.reference<bf16>();
      for (const isa level : all_isas()) {
        BOOST_TEST(differing(norm.fast<float>(level, pool), want) == 0,
                   to_string(level) << " n=" << n);
        BOOST_TEST(differing(norm.fast<bf16>(level, pool), want_bf16) == 0,
                   to_string(level) << " n=" << n);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_layer_norm_agrees_with_double_arithmetic) {
  random_rows random(14);
  lanes pool({.count = 0});
  constexpr size_t n = 1001;
  auto x = random.normal(n, 3.0f);
  for (float& v : x)
    v += 20.0f;
  const auto weight = random.normal(n);
  const auto bias = random.normal(n);
  std::vector<float> y(n);
  layer_norm({.eps = 1e-5f}, rows_of(x, n), {weight, bias},
             as_output(y.data(), 1, n), pool);
  double mean = 0, variance = 0;
  for (const float v : x)
    mean += double{v} / n;
  for (const float v : x)
    variance += (v - mean) * (v - mean) / n;
  const double factor = 1.0 / std::sqrt(variance + 1e-5);
  for (size_t i = 0; i < n; ++i)
    BOOST_TEST(std::abs(y[i] - ((x[i] - mean) * factor * weight[i] + bias[i])) <
               2e-5);
}

BOOST_AUTO_TEST_CASE(a_gated_norm_scales_each_head_by_the_silu_of_its_gate) {
  random_rows random(15);
  lanes pool({.count = 0});
  constexpr size_t n = 48;
  const auto x = random.normal(2 * n, 5.0f);
  const auto gate = random.normal(2 * n, 3.0f);
  const auto weight = random.normal(n);
  std::vector<float> y(2 * n);
  rms_norm_gated({.eps = 1e-6f}, {rows_of(x, 2 * n), rows_of(gate, 2 * n)},
                 weight, as_output(y.data(), 1, 2 * n), pool);
  for (size_t head = 0; head < 2 * n; head += n) {
    double squares = 0;
    for (size_t i = head; i < head + n; ++i)
      squares += double{x[i]} * x[i];
    const double factor = 1.0 / std::sqrt(squares / n + 1e-6);
    for (size_t i = head; i < head + n; ++i) {
      const double silu = gate[i] / (1.0 + std::exp(-double{gate[i]}));
      BOOST_TEST(std::abs(y[i] - x[i] * factor * weight[i - head] * silu) <
                 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(layer_norms_do_not_depend_on_their_batch_or_the_lanes) {
  random_rows random(16);
  constexpr size_t n = 768;
  const auto x = random.normal(70 * n);
  const auto weight = random.normal(n);
  const auto bias = random.normal(n);
  lanes alone({.count = 0}), two({.count = 2});
  std::vector<float> want(x.size());
  for (size_t r = 0; r < 70; ++r)
    layer_norm({}, {x.data() + r * n, 1, n, n}, {weight, bias},
               as_output(want.data() + r * n, 1, n), alone);
  std::vector<float> y = x;
  layer_norm({}, rows_of(y, n), {weight, bias}, as_output(y.data(), 70, n),
             two);
  BOOST_TEST(differing(y, want) == 0, "in place");
}

BOOST_AUTO_TEST_CASE(a_row_is_scaled_to_a_mean_square_of_one) {
  random_rows random(12);
  lanes pool({.count = 0});
  constexpr size_t n = 1000;
  const auto x = random.normal(n, 30.0f);
  const auto weight = random.normal(n);
  std::vector<float> y(n);
  rms_norm({.eps = 1e-5f}, rows_of(x, n), weight, as_output(y.data(), 1, n),
           pool);
  double squares = 0;
  for (const float v : x)
    squares += double{v} * v;
  const double factor = 1.0 / std::sqrt(squares / n + 1e-5);
  for (size_t i = 0; i < n; ++i)
    BOOST_TEST(std::abs(y[i] - x[i] * factor * weight[i]) < 1e-5);
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_their_batch_or_the_lanes) {
  random_rows random(13);
  constexpr size_t n = 768;
  const auto x = random.normal(70 * n);
  const auto weight = random.normal(n);
  lanes alone({.count = 0});
  std::vector<float> want(x.size());
  for (size_t r = 0; r < 70; ++r)
    rms_norm({}, {x.data() + r * n, 1, n, n}, weight,
             as_output(want.data() + r * n, 1, n), alone);
  for (const size_t count : {0u, 1u, 2u, 3u}) {
    lanes pool({.count = count});
    std::vector<float> y = x;
    rms_norm({}, rows_of(x, n), weight, as_output(y.data(), 70, n), pool);
    BOOST_TEST(differing(y, want) == 0);
    y = x;
    rms_norm({}, rows_of(y, n), weight, as_output(y.data(), 70, n), pool);
    BOOST_TEST(differing(y, want) == 0, "in place");
  }
}

BOOST_AUTO_TEST_CASE(a_nan_stays_in_its_row) {
  lanes pool({.count = 0});
  std::vector<float> x(3 * 32, 1.0f);
  x[40] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> weight(32, 1.0f);
  rms_norm({}, rows_of(x, 32), weight, as_output(x.data(), 3, 32), pool);
  for (size_t i = 0; i < 32; ++i) {
    BOOST_TEST(std::isfinite(x[i]));
    BOOST_TEST(std::isnan(x[32 + i]));
    BOOST_TEST(std::isfinite(x[64 + i]));
  }
}

BOOST_AUTO_TEST_SUITE_END()
