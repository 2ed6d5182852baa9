// Gating functions: equal bits on all ISAs, values against the formulas.
#include "kernels/activation.hpp"

#include "tests/unit/kernels/probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

constexpr activation_kind kinds[] = {activation_kind::silu,
                                     activation_kind::gelu_tanh,
                                     activation_kind::clamped_swish};

double formula(activation_kind kind, double gate, double up) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  switch (kind) {
  case activation_kind::silu:
    return gate * sigmoid(gate) * up;
  case activation_kind::gelu_tanh:
    return 0.5 * gate *
           (1 + std::tanh(std::sqrt(2 / M_PI) *
                          (gate + 0.044715 * gate * gate * gate))) *
           up;
  case activation_kind::clamped_swish:
    break;
  }
  const double g = std::min(gate, 7.0), u = std::clamp(up, -7.0, 7.0);
  return (u + 1) * g * sigmoid(1.702 * g);
}

} // namespace

BOOST_AUTO_TEST_SUITE(activation_test)

BOOST_AUTO_TEST_CASE(names_round_trip) {
  for (const auto kind : kinds)
    BOOST_TEST((activation_from_name(to_string(kind)) == kind));
  BOOST_TEST(!activation_from_name("relu").has_value());
}

BOOST_AUTO_TEST_CASE(values_follow_the_formulas) {
  const auto gate = random_floats(500, 1, 4.0f);
  const auto up = random_floats(500, 2, 4.0f);
  for (const auto kind : kinds) {
    auto y = gate;
    gated_activation({.kind = kind}, best_isa(), y, up);
    for (size_t i = 0; i < y.size(); ++i)
      BOOST_TEST(std::fabs(double{y[i]} - formula(kind, double{gate[i]},
                                                  double{up[i]})) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(all_isas_and_lengths_give_equal_bits) {
  const flush_denormals_scope flush;
  for (const auto kind : kinds)
    for (const size_t size : {1u, 7u, 16u, 37u, 64u}) {
      auto expected = random_floats(size, 3, 30.0f);
      const auto gate = expected, up = random_floats(size, 4, 30.0f);
      gated_activation({.kind = kind}, isa::scalar, expected, up);
      for (const auto level : all_isas()) {
        auto y = gate;
        gated_activation({.kind = kind}, level, y, up);
        BOOST_TEST(same_bits(y, expected), to_string(kind)
                                             << " on " << to_string(level));
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
