// RoPE scaling: frequencies and factors of real checkpoints against numbers
// computed apart, against whole-array f32 arithmetic, and which rows use which
// set.
#include "kernels/rope_scaling.hpp"

#include "kernels/reference/rope_scaling.hpp"
#include "row_support.hpp"

#include <cmath>
#include <limits>
#include <string>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(scaling_of_rope)

namespace {

/// A checkpoint's numbers.
struct checkpoint {
  std::string name;
  double theta;
  size_t rotary_dim;
  rope_scaling scaling;
};

rope_scaling linear() {
  return {.kind = rope_scaling_kind::linear, .factor = 4};
}

rope_scaling llama3() {
  return {
    .kind = rope_scaling_kind::llama3, .factor = 8, .original_positions = 8192};
}

/// Of a latent-attention model of 671 B parameters.
rope_scaling yarn_latent() {
  return {.kind = rope_scaling_kind::yarn,
          .factor = 40,
          .original_positions = 4096,
          .max_positions = 163840,
          .mscale = 1.0,
          .mscale_all_dim = 1.0};
}

rope_scaling yarn_without_steps() {
  return {.kind = rope_scaling_kind::yarn,
          .factor = 32,
          .original_positions = 4096,
          .truncate = false};
}

rope_scaling longrope(size_t pairs) {
  rope_scaling x{.kind = rope_scaling_kind::longrope,
                 .original_positions = 4096,
                 .max_positions = 131072};
  for (size_t i = 0; i < pairs; ++i) {
    x.short_factors.push_back(1.0 + 0.05 * static_cast<double>(i));
    x.long_factors.push_back(1.0 + 1.5 * static_cast<double>(i));
  }
  return x;
}

const std::vector<checkpoint> checkpoints{
  {"linear", 1e6, 16, linear()},
  {"llama3", 5e5, 128, llama3()},
  {"yarn", 1e4, 64, yarn_latent()},
  {"yarn without steps", 150000, 64, yarn_without_steps()},
  {"yarn by lengths",
   1e6,
   128,
   {.kind = rope_scaling_kind::yarn,
    .original_positions = 32768,
    .max_positions = 131072}},
  {"yarn of a tiny model",
   1e4,
   8,
   {.kind = rope_scaling_kind::yarn, .factor = 4, .original_positions = 128}},
  {"longrope", 1e4, 96, longrope(48)},
};

/// Frequency `i` of the short set.
float frequency(const checkpoint& x, size_t i) {
  return rope_inverse_frequencies(x.theta, x.rotary_dim, x.scaling,
                                  rope_set::short_range)
    .at(i);
}

bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::abs(b);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_scaling_nothing_changes) {
  const auto plain = rope_inverse_frequencies(1e6, 128);
  const auto scaled = rope_inverse_frequencies(1e6, 128, {}, //
                                               rope_set::short_range);
  BOOST_TEST(differing(plain, scaled) == 0);
  BOOST_TEST(rope_attention_factor({}, rope_set::short_range) == 1.0f);
  BOOST_TEST(rope_softmax_factor({}) == 1.0);
}

BOOST_AUTO_TEST_CASE(linear_scaling_divides_every_frequency) {
  const auto plain = rope_inverse_frequencies(1e6, 16);
  for (size_t i = 0; i < plain.size(); ++i)
    BOOST_TEST(frequency(checkpoints[0], i) == plain[i] / 4);
}

BOOST_AUTO_TEST_CASE(real_configs_give_the_known_frequencies) {
  // Computed apart, in double, from the published formulas.
  struct known {
    size_t checkpoint;
    size_t i;
    double frequency;
  };
  for (const known& x : std::vector<known>{{1, 0, 1.0},
                                           {1, 28, 0.003211445994752591},
                                           {1, 29, 0.002166570763503359},
                                           {1, 32, 0.0005248461609929547},
                                           {1, 35, 9.556212353964683e-05},
                                           {1, 36, 7.78465527393245e-05},
                                           {1, 63, 3.068925988914511e-07},
                                           {2, 10, 0.05623413251903491},
                                           {2, 11, 0.03900692656714386},
                                           {2, 16, 0.0055},
                                           {2, 22, 0.0001778279410038922},
                                           {2, 23, 3.33380358040831e-05},
                                           {3, 8, 0.050813274815461475},
                                           {3, 9, 0.03170569618466377},
                                           {3, 12, 0.006794959489732219},
                                           {3, 17, 0.0001293187012450632},
                                           {3, 18, 3.8308812373753384e-05},
                                           {4, 23, 0.006978305848598663},
                                           {4, 24, 0.005375321490790102},
                                           {4, 39, 6.490394320837029e-05},
                                           {4, 63, 3.102344401879299e-07}})
    BOOST_TEST(
      near(frequency(checkpoints[x.checkpoint], x.i), x.frequency, 6e-8),
      checkpoints[x.checkpoint].name << " " << x.i);
}

BOOST_AUTO_TEST_CASE(frequencies_agree_with_whole_arrays_in_f32) {
  for (const auto& x : checkpoints)
    for (const auto set : {rope_set::short_range, rope_set::long_range}) {
      const auto got =
        rope_inverse_frequencies(x.theta, x.rotary_dim, x.scaling, set);
      const auto want = reference::rope_inverse_frequencies(
        x.theta, x.rotary_dim, x.scaling, set);
      BOOST_REQUIRE(got.size() == want.size());
      for (size_t i = 0; i < got.size(); ++i)
        BOOST_TEST(near(got[i], want[i], 2e-6), x.name << " " << i);
    }
}

BOOST_AUTO_TEST_CASE(attention_factors_follow_the_config) {
  const auto factor = [](const rope_scaling& x) {
    return rope_attention_factor(x, rope_set::short_range);
  };
  BOOST_TEST(factor(linear()) == 1.0f);
  BOOST_TEST(factor(llama3()) == 1.0f);
  BOOST_TEST(factor(yarn_without_steps()) == 1.3465735902799727f);
  BOOST_TEST(factor(yarn_latent()) == 1.0f); // the two mscales cancel
  auto x = yarn_latent();
  x.mscale_all_dim = 0;
  BOOST_TEST(factor(x) == 1.3688879454113936f);
  x.mscale_all_dim = 0.5;
  BOOST_TEST(near(factor(x), 1.3688879454113936 / 1.1844439727056968, 1e-7));
  x.attention_factor = 0.75;
  BOOST_TEST(factor(x) == 0.75f);
  x = yarn_without_steps();
  x.factor = 0.5; // shorter than trained: nothing to make up for
  BOOST_TEST(factor(x) == 1.0f);
  x = longrope(48);
  BOOST_TEST(factor(x) == 1.1902380714238083f);
  x.attention_factor = 1.5;
  BOOST_TEST(factor(x) == 1.5f);
  x.short_mscale = 1.1;
  x.long_mscale = 1.3;
  BOOST_TEST(factor(x) == 1.1f);
  BOOST_TEST(rope_attention_factor(x, rope_set::long_range) == 1.3f);
}

BOOST_AUTO_TEST_CASE(latent_attention_squares_the_factor_of_all_dimensions) {
  auto x = yarn_latent();
  BOOST_TEST(near(rope_softmax_factor(x), 1.8738542070926265, 1e-14));
  x.mscale_all_dim = 0.707;
  BOOST_TEST(near(rope_softmax_factor(x), 1.5896261651208736, 1e-14));
  x.mscale_all_dim = 0;
  BOOST_TEST(rope_softmax_factor(x) == 1.0);
  BOOST_TEST(rope_softmax_factor(linear()) == 1.0);
}

BOOST_AUTO_TEST_CASE(the_set_of_a_row_depends_on_its_sequence_only) {
  const auto x = longrope(8);
  using enum rope_set;
  // A prompt that fits starts with the short set and leaves it on its way.
  for (const size_t prompt : {1u, 100u, 4096u}) {
    BOOST_TEST((rope_set_of(x, prompt, 0) == short_range));
    BOOST_TEST((rope_set_of(x, prompt, 4095) == short_range));
    BOOST_TEST((rope_set_of(x, prompt, 4096) == long_range));
  }
  BOOST_TEST((rope_set_of(x, 4097, 0) == long_range));
  BOOST_TEST((rope_set_of(x, 4097, 5000) == long_range));
  BOOST_TEST((rope_set_of(yarn_latent(), 100000, 99999) == short_range));
  BOOST_TEST((rope_set_of({}, 100000, 99999) == short_range));
}

BOOST_AUTO_TEST_CASE(rows_of_one_batch_may_use_different_sets) {
  auto x = longrope(8);
  x.short_mscale = 1.1;
  x.long_mscale = 1.3;
  const auto tables = make_rope_tables(1e4, 16, x);
  const std::vector<rope_row> rows{{5, rope_set::short_range},
                                   {5, rope_set::long_range},
                                   {4096, rope_set::long_range},
                                   {0, rope_set::short_range}};
  std::vector<float> angles(rows.size() * 16);
  rope_angles(tables, rows, rows_of(angles, 16));
  for (size_t r = 0; r < rows.size(); ++r) {
    const bool is_long = rows[r].set == rope_set::long_range;
    const auto& factors = is_long ? x.long_factors : x.short_factors;
    const double mscale = is_long ? 1.3 : 1.1;
    for (size_t i = 0; i < 8; ++i) {
      const double angle = static_cast<double>(rows[r].position) *
                           std::pow(1e4, -static_cast<double>(i) / 8.0) /
                           factors[i];
      const float* row = angles.data() + r * 16;
      BOOST_TEST(std::abs(row[i] - mscale * std::cos(angle)) < 1e-4);
      BOOST_TEST(std::abs(row[8 + i] - mscale * std::sin(angle)) < 1e-4);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_set_gives_the_bits_of_plain_angles) {
  const auto& x = checkpoints[3];
  const auto tables = make_rope_tables(x.theta, x.rotary_dim, x.scaling);
  const std::vector<size_t> positions{0, 3, 70000};
  std::vector<rope_row> rows;
  for (const size_t position : positions)
    rows.push_back({position});
  std::vector<float> got(3 * x.rotary_dim);
  std::vector<float> want(got.size());
  rope_angles(tables, rows, rows_of(got, x.rotary_dim));
  rope_angles(tables.short_range.inverse_frequencies, positions,
              tables.short_range.attention_factor, rows_of(want, x.rotary_dim));
  BOOST_TEST(differing(got, want) == 0);
}

BOOST_AUTO_TEST_CASE(numbers_that_define_no_rotation_are_refused) {
  for (const auto& x : checkpoints)
    BOOST_TEST(
      check_rope_scaling(x.scaling, x.theta, x.rotary_dim).has_value());
  BOOST_TEST(check_rope_scaling({}, 1e4, 64).has_value());
  const auto refused = [](rope_scaling x, auto change,
                          const std::string& named) {
    change(x);
    const auto answer = check_rope_scaling(x, 1e4, 16);
    BOOST_REQUIRE_MESSAGE(!answer, named);
    BOOST_TEST(answer.error().message.find(named) != std::string::npos,
               answer.error().message);
  };
  using scaling = rope_scaling;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto yarn = yarn_latent();
  const auto far = longrope(8);
  refused(
    linear(), [](scaling& x) { x.factor = 0; }, "factor");
  refused(
    linear(), [](scaling& x) { x.factor = -2; }, "factor");
  refused(
    linear(), [=](scaling& x) { x.factor = nan; }, "factor");
  refused(
    llama3(), [](scaling& x) { x.high_freq_factor = 0.5; }, "high_freq");
  refused(
    llama3(), [](scaling& x) { x.low_freq_factor = 0; }, "low_freq");
  refused(
    yarn, [](scaling& x) { x.original_positions = 0; }, "original_max");
  refused(
    yarn, [](scaling& x) { x.beta_fast = 0; }, "beta_fast");
  refused(
    yarn, [](scaling& x) { x.beta_slow = 33; }, "beta_slow");
  refused(
    yarn, [](scaling& x) { x.mscale = -10; }, "mscale");
  refused(
    yarn, [=](scaling& x) { x.mscale_all_dim = nan; }, "mscale_all_dim");
  refused(
    yarn, [](scaling& x) { x.attention_factor = 0; }, "attention_factor");
  refused(
    far, [](scaling& x) { x.short_factors.pop_back(); }, "short_factor");
  refused(
    far, [](scaling& x) { x.long_factors[3] = 0; }, "long_factor");
  refused(
    far, [](scaling& x) { x.original_positions = 1; }, "original_max");
  refused(
    far, [=](scaling& x) { x.long_mscale = nan; }, "long_mscale");
  BOOST_TEST(!check_rope_scaling({}, 1.0, 16));
  BOOST_TEST(!check_rope_scaling({}, 1e4, 15));
}

BOOST_AUTO_TEST_SUITE_END()
