// The grouped expert layer against a naive twin, and its invariances.
#include "kernels/moe_ffn.hpp"

#include "kernels/math.hpp"
#include "kernels/reference/bf16_dot.hpp"
#include "tests/unit/kernels/probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

/// An expert's weights before packing.
struct plain_expert {
  size_t hidden, expert_size;
  std::vector<bf16> gate, up, down;
  std::vector<float> gate_bias, up_bias, down_bias;
  activation_options activation;
};

plain_expert random_expert(size_t hidden, size_t expert_size, uint64_t seed) {
  plain_expert e{hidden, expert_size, {}, {}, {}, {}, {}, {}, {}};
  e.gate = random_bf16(expert_size * hidden, seed, 0.2f);
  e.up = random_bf16(expert_size * hidden, seed + 1, 0.2f);
  e.down = random_bf16(expert_size * hidden, seed + 2, 0.2f);
  return e;
}

expert_ffn packed(const plain_expert& e, isa level) {
  const compute_options options{level, numeric_mode::bf16};
  const auto wide = [&](const std::vector<bf16>& w) {
    return packed_weight::pack(as_activation(w.data(), e.expert_size, e.hidden),
                               options);
  };
  expert_ffn ffn;
  ffn.gate = wide(e.gate);
  ffn.up = wide(e.up);
  ffn.down = packed_weight::pack(
    as_activation(e.down.data(), e.hidden, e.expert_size), options);
  ffn.gate_bias = e.gate_bias;
  ffn.up_bias = e.up_bias;
  ffn.down_bias = e.down_bias;
  ffn.activation = e.activation;
  return ffn;
}

float gated(const activation_options& options, float gate, float up) {
  if (options.kind == activation_kind::silu)
    return silu_f32(gate) * up;
  const float g = std::min(gate, options.limit);
  const float u = std::max(std::min(up, options.limit), -options.limit);
  return (u + 1.0f) * (g * sigmoid_f32(g * options.alpha));
}

float bias_at(const std::vector<float>& bias, size_t i) {
  return bias.empty() ? 0.0f : bias[i];
}

/// One row through one expert, as the formula reads.
std::vector<float> naive(const plain_expert& e, std::span<const bf16> x) {
  const flush_denormals_scope flush;
  std::vector<bf16> inner(e.expert_size);
  for (size_t i = 0; i < e.expert_size; ++i) {
    const std::span gate(e.gate.data() + i * e.hidden, e.hidden);
    const std::span up(e.up.data() + i * e.hidden, e.hidden);
    inner[i] = to_bf16(gated(
      e.activation, reference::bf16_dot(x, gate) + bias_at(e.gate_bias, i),
      reference::bf16_dot(x, up) + bias_at(e.up_bias, i)));
  }
  std::vector<float> y(e.hidden);
  for (size_t i = 0; i < e.hidden; ++i)
    y[i] = reference::bf16_dot(
             inner, {e.down.data() + i * e.expert_size, e.expert_size}) +
           bias_at(e.down_bias, i);
  return y;
}

struct pairs_of_expert {
  std::vector<uint32_t> rows, slots;
};

constexpr size_t hidden = 200, expert_size = 100;

} // namespace

BOOST_AUTO_TEST_SUITE(moe_ffn_test)

BOOST_AUTO_TEST_CASE(pairs_have_the_bits_of_the_naive_twin) {
  const size_t tokens = 45;
  const auto x = random_bf16(tokens * hidden, 1);
  std::vector<plain_expert> experts;
  for (uint64_t e = 0; e < 3; ++e)
    experts.push_back(random_expert(hidden, expert_size, 10 + 3 * e));
  experts[2].gate_bias = random_floats(expert_size, 31);
  experts[2].up_bias = random_floats(expert_size, 32);
  experts[2].down_bias = random_floats(hidden, 33);
  experts[2].activation.kind = activation_kind::clamped_swish;
  // Expert 0 gets one row, expert 1 all, expert 2 every second one, backwards.
  std::vector<pairs_of_expert> pairs(3);
  uint32_t slot = 0;
  const auto add = [&](size_t expert, size_t row) {
    pairs[expert].rows.push_back(static_cast<uint32_t>(row));
    pairs[expert].slots.push_back(slot++);
  };
  for (size_t row = tokens; row-- > 0;) {
    add(1, row);
    if (row % 2 == 0)
      add(2, row);
    if (row == 7)
      add(0, row);
  }
  for (const auto level : all_isas())
    for (const size_t count : {0u, 2u}) {
      lanes pool({.count = count});
      std::vector<expert_ffn> ffns;
      for (const auto& e : experts)
        ffns.push_back(packed(e, level));
      std::vector<expert_rows> work;
      for (size_t e = 0; e < 3; ++e)
        work.push_back({&ffns[e], pairs[e].rows, pairs[e].slots});
      std::vector<float> y(slot * hidden);
      std::vector<bf16> short_y(slot * hidden);
      const auto input = as_activation(x.data(), tokens, hidden);
      moe_ffn(work, input, as_output(y.data(), slot, hidden), pool);
      moe_ffn(work, input, as_output(short_y.data(), slot, hidden), pool);
      for (size_t e = 0; e < 3; ++e)
        for (size_t i = 0; i < pairs[e].rows.size(); ++i) {
          const auto expected =
            naive(experts[e], {x.data() + pairs[e].rows[i] * hidden, hidden});
          const size_t at = pairs[e].slots[i] * hidden;
          BOOST_TEST(same_bits({y.data() + at, hidden}, expected),
                     "expert " << e << " on " << to_string(level));
          for (size_t k = 0; k < hidden; ++k)
            BOOST_REQUIRE(short_y[at + k] == to_bf16(expected[k]));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_dense_layer_is_one_expert_for_all_rows) {
  const auto plain = random_expert(hidden, expert_size, 50);
  const auto ffn = packed(plain, best_isa());
  const auto x = random_bf16(70 * hidden, 51);
  lanes pool({.count = 2});
  std::vector<float> y(70 * hidden);
  dense_ffn(ffn, as_activation(x.data(), 70, hidden),
            as_output(y.data(), 70, hidden), pool);
  for (const size_t row : {0u, 31u, 32u, 69u})
    BOOST_TEST(same_bits({y.data() + row * hidden, hidden},
                         naive(plain, {x.data() + row * hidden, hidden})));
}

BOOST_AUTO_TEST_CASE(wide_experts_are_computed_in_runs_of_blocks) {
  const size_t wide = 17 * 64 + 8;
  const auto plain = random_expert(wide, wide, 80);
  const auto ffn = packed(plain, best_isa());
  const auto x = random_bf16(40 * wide, 81);
  lanes pool({.count = 0});
  BOOST_TEST(blocks_per_task(ffn.down, 40, ffn.down.blocks(), pool) > 1u);
  std::vector<float> y(40 * wide);
  dense_ffn(ffn, as_activation(x.data(), 40, wide),
            as_output(y.data(), 40, wide), pool);
  for (const size_t row : {0u, 39u})
    BOOST_TEST(same_bits({y.data() + row * wide, wide},
                         naive(plain, {x.data() + row * wide, wide})));
}

BOOST_AUTO_TEST_CASE(in_f32_mode_a_pair_does_not_depend_on_its_batch) {
  const compute_options options{best_isa(), numeric_mode::f32};
  lanes pool({.count = 2});
  const auto gate = random_floats(expert_size * hidden, 60, 0.2f);
  const auto down = random_floats(expert_size * hidden, 61, 0.2f);
  expert_ffn ffn;
  ffn.gate = packed_weight::pack(
    as_activation(gate.data(), expert_size, hidden), options);
  ffn.up = packed_weight::pack(as_activation(gate.data(), expert_size, hidden),
                               options);
  ffn.down = packed_weight::pack(
    as_activation(down.data(), hidden, expert_size), options);
  const auto x = random_floats(37 * hidden, 62);
  std::vector<float> all(37 * hidden), alone(hidden);
  dense_ffn(ffn, as_activation(x.data(), 37, hidden),
            as_output(all.data(), 37, hidden), pool);
  for (const size_t row : {0u, 36u}) {
    dense_ffn(ffn, as_activation(x.data() + row * hidden, 1, hidden),
              as_output(alone.data(), 1, hidden), pool);
    BOOST_TEST(same_bits(alone, {all.data() + row * hidden, hidden}));
  }
  BOOST_TEST(!same_bits({all.data(), hidden}, {all.data() + hidden, hidden}));
}

BOOST_AUTO_TEST_CASE(no_work_is_no_error) {
  lanes pool({.count = 0});
  moe_ffn({}, {}, {}, pool);
  const auto ffn = packed(random_expert(64, 64, 70), best_isa());
  const expert_rows none{&ffn, {}, {}};
  std::vector<bf16> x(64);
  std::vector<float> y(64, 5.0f);
  moe_ffn(std::span(&none, 1), as_activation(x.data(), 1, 64),
          as_output(y.data(), 1, 64), pool);
  BOOST_TEST(y[0] == 5.0f);
}

BOOST_AUTO_TEST_SUITE_END()
