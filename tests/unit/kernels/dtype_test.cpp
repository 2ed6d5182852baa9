// Element types: names, sizes, and rounding to bf16.
#include "kernels/dtype.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace troupe::kernels;

BOOST_AUTO_TEST_SUITE(dtype_test)

BOOST_AUTO_TEST_CASE(every_type_is_found_by_its_name) {
  for (int i = 0; i <= static_cast<int>(dtype::boolean); ++i) {
    const auto type = static_cast<dtype>(i);
    BOOST_TEST((dtype_from_name(to_string(type)) == type));
  }
  BOOST_TEST(!dtype_from_name("F12").has_value());
  BOOST_TEST(size_of(dtype::f8_e4m3) == 1u);
}

BOOST_AUTO_TEST_CASE(a_tie_rounds_to_the_even_neighbour) {
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f808000u)).bits == 0x3f80);
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f818000u)).bits == 0x3f82);
  BOOST_TEST(to_bf16(std::bit_cast<float>(0x3f808001u)).bits == 0x3f81);
}

BOOST_AUTO_TEST_CASE(every_bf16_survives_the_way_through_f32) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const bf16 x{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(x)))
      BOOST_TEST(std::isnan(to_float(to_bf16(to_float(x)))));
    else
      BOOST_TEST(to_bf16(to_float(x)).bits == x.bits);
  }
}

BOOST_AUTO_TEST_CASE(nan_stays_nan_and_large_values_become_infinite) {
  const float hidden_nan = std::bit_cast<float>(0x7f800001u);
  BOOST_TEST(std::isnan(to_float(to_bf16(hidden_nan))));
  BOOST_TEST(std::isinf(to_float(to_bf16(std::numeric_limits<float>::max()))));
}

BOOST_AUTO_TEST_SUITE_END()
