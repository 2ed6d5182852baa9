#include "kernels/softmax_weights.hpp"

#include "kernels/math.hpp"
#include "row_support.hpp"

#include <limits>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(softmax_weights_suite)

BOOST_AUTO_TEST_CASE(every_isa_gives_the_bits_of_the_scalar_form) {
  random_rows random(31);
  for (const isa level : all_isas())
    for (const size_t n : {1u, 7u, 16u, 33u, 1000u}) {
      auto x = random.normal(n, 20.0f);
      x[random.below(n)] = -std::numeric_limits<float>::infinity();
      std::vector<float> y(n);
      softmax_weights(level, x, 60.0f, 0.7f, y);
      for (size_t i = 0; i < n; ++i)
        BOOST_REQUIRE(same_bits(y[i], exp_f32((x[i] - 60.0f) / 0.7f)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
