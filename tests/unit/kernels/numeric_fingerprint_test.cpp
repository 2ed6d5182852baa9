// The fingerprint is a property of the numbers, not of the machine.
#include "kernels/numeric_fingerprint.hpp"

#include "tests/unit/kernels/probe.hpp"

#include <array>
#include <boost/test/unit_test.hpp>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

constexpr std::array shapes{probe_shape{100, 64}, probe_shape{64, 100}};

} // namespace

BOOST_AUTO_TEST_SUITE(numeric_fingerprint_test)

BOOST_AUTO_TEST_CASE(all_isas_have_one_fingerprint_in_bf16_mode) {
  lanes alone({.count = 0}), two({.count = 2});
  const auto expected =
    numeric_fingerprint(shapes, {isa::scalar, numeric_mode::bf16}, alone);
  for (const auto level : all_isas())
    BOOST_TEST(numeric_fingerprint(shapes, {level, numeric_mode::bf16}, two) ==
               expected);
}

BOOST_AUTO_TEST_CASE(modes_and_shapes_change_the_fingerprint) {
  lanes pool({.count = 0});
  const auto bf16_print =
    numeric_fingerprint(shapes, {best_isa(), numeric_mode::bf16}, pool);
  const auto f32_print =
    numeric_fingerprint(shapes, {best_isa(), numeric_mode::f32}, pool);
  const auto fewer = numeric_fingerprint(
    std::span(shapes).first(1), {best_isa(), numeric_mode::bf16}, pool);
  BOOST_TEST(bf16_print != f32_print);
  BOOST_TEST(bf16_print != fewer);
}

BOOST_AUTO_TEST_SUITE_END()
