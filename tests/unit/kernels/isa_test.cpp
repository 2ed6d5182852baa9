// ISA levels: names, order, and the flush scope.
#include "kernels/isa.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

using namespace troupe::kernels;

namespace {

float halved_least_normal() {
  volatile float x = std::numeric_limits<float>::min();
  return x / 2;
}

} // namespace

BOOST_AUTO_TEST_SUITE(isa_test)

BOOST_AUTO_TEST_CASE(names_of_isas_and_modes_round_trip) {
  for (const auto level : {isa::scalar, isa::avx2, isa::avx512, isa::amx})
    BOOST_TEST((isa_from_name(to_string(level)) == level));
  for (const auto mode : {numeric_mode::bf16, numeric_mode::f32})
    BOOST_TEST((numeric_mode_from_name(to_string(mode)) == mode));
  BOOST_TEST(!isa_from_name("neon").has_value());
}

BOOST_AUTO_TEST_CASE(a_machine_supports_all_isas_below_its_best) {
  for (const auto level : {isa::scalar, isa::avx2, isa::avx512, isa::amx})
    BOOST_TEST(supported(level) == (level <= best_isa()));
}

BOOST_AUTO_TEST_CASE(denormals_are_flushed_inside_the_scope_only) {
  BOOST_TEST(halved_least_normal() > 0.0f);
  {
    const flush_denormals_scope scope;
    BOOST_TEST(halved_least_normal() == 0.0f);
  }
  BOOST_TEST(halved_least_normal() > 0.0f);
}

BOOST_AUTO_TEST_SUITE_END()
