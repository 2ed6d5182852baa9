// RMS norms: equal bits on every ISA, equal to the scalar definition, and close
// to double arithmetic.
#include "kernels/norm.hpp"

#include "kernels/reference/norm.hpp"
#include "row_support.hpp"

#include <cmath>
#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(norm)

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_definition) {
  random_rows random(11);
  lanes pool({.count = 2});
  const flush_denormals_scope flush;
  for (const size_t n : {1u, 5u, 16u, 63u, 64u, 65u, 128u, 200u, 2048u})
    for (const size_t heads : {1u, 3u}) {
      const auto x = random.normal(4 * heads * n);
      const auto weight = random.normal(n);
      std::vector<float> want(x.size());
      std::vector<bf16> want_bf16(x.size());
      const norm_options defaults;
      reference::rms_norm_heads(defaults, rows_of(x, heads * n), weight,
                                as_output(want.data(), 4, heads * n));
      reference::rms_norm_heads(defaults, rows_of(x, heads * n), weight,
                                as_output(want_bf16.data(), 4, heads * n));
      for (const isa level : all_isas()) {
        std::vector<float> y(x.size());
        std::vector<bf16> y_bf16(x.size());
        const norm_options options{.isa = level};
        rms_norm_heads(options, rows_of(x, heads * n), weight,
                       as_output(y.data(), 4, heads * n), pool);
        rms_norm_heads(options, rows_of(x, heads * n), weight,
                       as_output(y_bf16.data(), 4, heads * n), pool);
        BOOST_TEST(differing(y, want) == 0, to_string(level) << " n=" << n);
        BOOST_TEST(differing(y_bf16, want_bf16) == 0, to_string(level)
                                                        << " n=" << n);
      }
    }
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
