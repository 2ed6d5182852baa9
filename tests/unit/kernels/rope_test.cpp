// Rotary embedding: the angles against double arithmetic, the rotation against
// its scalar definition.
#include "kernels/rope.hpp"

#include "kernels/reference/rope.hpp"
#include "row_support.hpp"

#include <cmath>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(rope)

BOOST_AUTO_TEST_CASE(inverse_frequencies_follow_the_power_law) {
  for (const double theta : {10000.0, 1e6, 5e6}) {
    const auto f = rope_inverse_frequencies(theta, 128);
    BOOST_REQUIRE(f.size() == 64);
    BOOST_TEST(f[0] == 1.0f);
    for (size_t i = 0; i < f.size(); ++i) {
      const double want =
        std::pow(theta, -2.0 * static_cast<double>(i) / 128.0);
      BOOST_TEST(std::abs(f[i] / want - 1.0) < 1e-7);
    }
  }
}

BOOST_AUTO_TEST_CASE(angles_are_exact_to_the_last_f32_place_at_any_position) {
  const auto f = rope_inverse_frequencies(1e6, 64);
  const std::vector<size_t> positions{0,     1,     2,      63,     64,
                                      40960, 99999, 262144, 1048576};
  std::vector<float> angles(positions.size() * 64);
  rope_angles(f, positions, 1.0f, rows_of(angles, 64));
  for (size_t r = 0; r < positions.size(); ++r)
    for (size_t i = 0; i < f.size(); ++i) {
      const double angle = static_cast<double>(positions[r]) * double{f[i]};
      BOOST_TEST(std::abs(angles[r * 64 + i] - std::cos(angle)) <= 3e-8);
      BOOST_TEST(std::abs(angles[r * 64 + 32 + i] - std::sin(angle)) <= 3e-8);
    }
}

BOOST_AUTO_TEST_CASE(scaling_multiplies_cosines_and_sines) {
  const auto f = rope_inverse_frequencies(1e4, 16);
  const std::vector<size_t> positions{7};
  std::vector<float> plain(16);
  std::vector<float> scaled(16);
  rope_angles(f, positions, 1.0f, rows_of(plain, 16));
  rope_angles(f, positions, 1.25f, rows_of(scaled, 16));
  for (size_t i = 0; i < 16; ++i)
    BOOST_TEST(scaled[i] == plain[i] * 1.25f);
}

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_definition) {
  random_rows random(31);
  lanes pool({.count = 2});
  for (const size_t rotary : {2u, 6u, 32u, 64u, 128u})
    for (const rope_pairs pairs :
         {rope_pairs::half_split, rope_pairs::interleaved})
      for (const isa level : all_isas()) {
        const rope_options options{.head_dim = rotary + 4,
                                   .rotary_dim = rotary,
                                   .pairs = pairs,
                                   .isa = level};
        const auto f = rope_inverse_frequencies(1e4, rotary);
        const std::vector<size_t> positions{0, 3, 77, 1000, 5};
        std::vector<float> angles(5 * rotary);
        rope_angles(f, positions, 1.0f, rows_of(angles, rotary));
        const size_t cols = 3 * options.head_dim;
        auto x = random.normal(5 * cols);
        auto want = x;
        const auto& table = angles;
        reference::apply_rope(options, rows_of(table, rotary),
                              rows_of(want, cols));
        apply_rope(options, rows_of(table, rotary), rows_of(x, cols), pool);
        BOOST_TEST(differing(x, want) == 0);
      }
}

BOOST_AUTO_TEST_CASE(scores_depend_on_the_distance_of_two_positions_only) {
  random_rows random(32);
  lanes pool({.count = 0});
  const rope_options options{.head_dim = 64, .rotary_dim = 64};
  const auto f = rope_inverse_frequencies(1e4, 64);
  const auto q = random.normal(64);
  const auto k = random.normal(64);
  const auto score = [&](size_t at_q, size_t at_k) {
    auto x = q;
    x.insert(x.end(), k.begin(), k.end());
    const std::vector<size_t> positions{at_q, at_k};
    std::vector<float> angles(2 * 64);
    rope_angles(f, positions, 1.0f, rows_of(angles, 64));
    const auto& table = angles;
    apply_rope(options, rows_of(table, 64), rows_of(x, 64), pool);
    double sum = 0;
    for (size_t i = 0; i < 64; ++i)
      sum += double{x[i]} * x[64 + i];
    return sum;
  };
  BOOST_TEST(std::abs(score(10, 3) - score(1007, 1000)) < 1e-4);
  BOOST_TEST(std::abs(score(10, 3) - score(10, 9)) > 1e-2);
}

BOOST_AUTO_TEST_SUITE_END()
