// The elementary functions against the C library's double versions, and the
// special values their callers rely on.
#include "kernels/math.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace troupe::kernels;

BOOST_AUTO_TEST_SUITE(math)

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// |got - want| in units of the last place of the f32 `want`.
double ulps(float got, double want) {
  const int exponent = std::ilogb(want);
  return std::abs(static_cast<double>(got) - want) /
         std::ldexp(1.0, exponent - 23);
}

} // namespace

BOOST_AUTO_TEST_CASE(exp_is_within_one_ulp_over_its_whole_range) {
  double worst = 0;
  for (uint32_t step = 0; step <= 4'000'000; ++step) {
    const float x = -87.29F + static_cast<float>(step) * (176.0F / 4e6F);
    worst = std::max(worst, ulps(exp_f32(x), std::exp(double{x})));
  }
  BOOST_TEST_MESSAGE("exp_f32: worst error " << worst << " ulp");
  BOOST_TEST(worst < 1.0);
}

BOOST_AUTO_TEST_CASE(exp_keeps_special_values) {
  BOOST_TEST(exp_f32(0.0F) == 1.0F);
  BOOST_TEST(exp_f32(-0.0F) == 1.0F);
  BOOST_TEST(exp_f32(-inf) == 0.0F);
  BOOST_TEST(exp_f32(-1000.0F) == 0.0F);
  BOOST_TEST(exp_f32(inf) == inf);
  BOOST_TEST(exp_f32(88.73F) == inf);
  BOOST_TEST(std::isfinite(exp_f32(88.7228F)));
  BOOST_TEST(std::isnan(exp_f32(nan)));
  BOOST_TEST(exp_f32(-87.3F) > std::numeric_limits<float>::min());
}

BOOST_AUTO_TEST_CASE(exp_never_decreases) {
  float last = 0;
  for (float x = -90.0F; x < 89.0F; x += 0.0009F) {
    const float y = exp_f32(x);
    BOOST_REQUIRE(y >= last);
    last = y;
  }
}

BOOST_AUTO_TEST_CASE(silu_follows_its_definition) {
  for (float x = -80.0F; x < 80.0F; x += 0.01F) {
    const double want = x / (1.0 + std::exp(-double{x}));
    BOOST_REQUIRE(std::abs(silu_f32(x) - want) <= 3e-7 * std::abs(want));
    const double gate = 1.0 / (1.0 + std::exp(-double{x}));
    BOOST_REQUIRE(std::abs(sigmoid_f32(x) - gate) <= 3e-7 * gate);
  }
  BOOST_TEST(silu_f32(0.0F) == 0.0F);
  BOOST_TEST(silu_f32(-200.0F) == 0.0F);
  BOOST_TEST(std::isnan(silu_f32(nan)));
}

BOOST_AUTO_TEST_CASE(softplus_is_within_three_ulp_and_keeps_special_values) {
  double worst = 0;
  for (float x = -87.0F; x < 100.0F; x += 0.00037F) {
    const double want =
      std::max(double{x}, 0.0) + std::log1p(std::exp(-std::abs(double{x})));
    worst = std::max(worst, ulps(softplus_f32(x), want));
  }
  BOOST_TEST_MESSAGE("softplus_f32: worst error " << worst << " ulp");
  BOOST_TEST(worst < 3.0);
  BOOST_TEST(softplus_f32(-inf) == 0.0F);
  BOOST_TEST(softplus_f32(inf) == inf);
  BOOST_TEST(softplus_f32(1e30F) == 1e30F);
  BOOST_TEST(std::isnan(softplus_f32(nan)));
}

BOOST_AUTO_TEST_CASE(double_exp_and_log_are_within_three_ulp) {
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  for (double x = -700.0; x < 709.0; x += 0.0137)
    BOOST_REQUIRE(std::abs(exp_f64(x) / std::exp(x) - 1.0) <= 3 * ulp);
  for (double x = 1e-300; x < 1e300; x *= 1.137)
    BOOST_REQUIRE(std::abs(log_f64(x) - std::log(x)) <=
                  3 * ulp * std::abs(std::log(x)));
  for (double x = 0.5; x < 2.0; x += 0.000113)
    BOOST_REQUIRE(std::abs(log_f64(x) - std::log(x)) <=
                  3 * ulp * std::abs(std::log(x)));
  BOOST_TEST(log_f64(1.0) == 0.0);
  BOOST_TEST(log_f64(0.0) == -double{inf});
  BOOST_TEST(std::isnan(log_f64(-1.0)));
  BOOST_TEST(exp_f64(-double{inf}) == 0.0);
  BOOST_TEST(exp_f64(1000.0) == double{inf});
  BOOST_TEST(std::isnan(exp_f64(double{nan})));
  BOOST_TEST(pow_f64(10000.0, -0.5) == 0.01,
             boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(sine_and_cosine_are_exact_to_1e_15_up_to_two_million) {
  double worst = 0;
  const auto check = [&worst](double x) {
    const auto y = sin_cos_f64(x);
    worst = std::max(worst, std::abs(y.sin - std::sin(x)));
    worst = std::max(worst, std::abs(y.cos - std::cos(x)));
  };
  for (double x = -20.0; x < 20.0; x += 0.00017)
    check(x);
  for (double x = 1.0; x < 2'097'152.0; x += 10.37)
    check(x);
  for (double k = 1.0; k < 1'000'000.0; k += 97.0)
    check(k * 1.5707963267948966);
  BOOST_TEST_MESSAGE("sin_cos_f64: worst error " << worst);
  BOOST_TEST(worst < 1e-15);
  BOOST_TEST(sin_cos_f64(0.0).sin == 0.0);
  BOOST_TEST(sin_cos_f64(0.0).cos == 1.0);
  BOOST_TEST(std::isnan(sin_cos_f64(1e9).sin));
  BOOST_TEST(std::isnan(sin_cos_f64(double{nan}).cos));
}

BOOST_AUTO_TEST_SUITE_END()
