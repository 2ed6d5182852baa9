#include "runtime/engine/recurrent_state.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

/// A convolution layer, an attention layer, a delta layer.
model_config config_of() {
  model_config x;
  x.hidden_size = 4;
  x.num_layers = 3;
  x.short_conv.kernel = 3;
  x.gated_delta = {.kernel = 4,
                   .key_heads = 1,
                   .value_heads = 2,
                   .key_dim = 2,
                   .value_dim = 3};
  x.layers.resize(3);
  x.layers[0].mixer = mixer_kind::short_conv;
  x.layers[1].mixer = mixer_kind::gqa;
  x.layers[2].mixer = mixer_kind::gated_delta;
  return x;
}

state_arena arena_of(uint32_t sequences) {
  auto x = state_arena::make(state_layout{config_of()}, sequences);
  BOOST_TEST_REQUIRE(x.has_value());
  return std::move(*x);
}

/// Runs a step that adds 1 to everything.
void step(state_arena& arena, uint32_t id, uint32_t position, uint32_t rows) {
  const auto s = arena.begin(id, position);
  std::ranges::transform(s.from, s.to.begin(), [](float x) { return x + 1; });
  arena.end(id, position + rows);
}

} // namespace

BOOST_AUTO_TEST_SUITE(recurrent_states)

BOOST_AUTO_TEST_CASE(each_recurrent_layer_has_its_own_part) {
  const state_layout layout{config_of()};
  // 2 inputs of 4 channels; none; 3 inputs of 2 * 2 + 6 channels, and two
  // matrices, padded to 4 x 32.
  BOOST_TEST(layout.floats() == 8U + 0U + 30U + 256U);
  std::vector<float> memory(layout.floats());
  BOOST_TEST(layout.part(memory, 0).inputs.size() == 8U);
  BOOST_TEST(layout.part(memory, 0).matrices.empty());
  BOOST_TEST(layout.part(memory, 1).inputs.empty());
  BOOST_TEST(layout.part(memory, 2).inputs.size() == 30U);
  BOOST_TEST(layout.part(memory, 2).matrices.size() == 256U);
  BOOST_TEST(layout.part(memory, 2).matrices.data() == memory.data() + 38);
}

BOOST_AUTO_TEST_CASE(a_step_may_be_run_again_until_the_next_one) {
  auto arena = arena_of(1);
  step(arena, 0, 0, 5);
  step(arena, 0, 5, 1);
  // The second step failed behind the forward pass: it comes again.
  step(arena, 0, 5, 1);
  BOOST_TEST(arena.begin(0, 6).from.front() == 2.0F);
}

BOOST_AUTO_TEST_CASE(a_step_given_up_half_way_leaves_its_past_alone) {
  auto arena = arena_of(1);
  step(arena, 0, 0, 5);
  std::ranges::fill(arena.begin(0, 5).to, 99.0F); // and no `end`
  step(arena, 0, 5, 2);
  BOOST_TEST(arena.begin(0, 7).from.front() == 2.0F);
}

BOOST_AUTO_TEST_CASE(a_slot_forgets_its_earlier_owner) {
  auto arena = arena_of(2);
  step(arena, 1, 0, 5);
  step(arena, 1, 5, 1);
  const auto fresh = arena.begin(1, 0);
  BOOST_TEST(std::ranges::count(fresh.from, 0.0F) ==
             static_cast<long>(fresh.from.size()));
  step(arena, 1, 0, 6);
  BOOST_TEST(arena.begin(1, 6).from.front() == 1.0F);
}

BOOST_AUTO_TEST_CASE(slots_do_not_touch_each_other) {
  auto arena = arena_of(2);
  step(arena, 0, 0, 1);
  step(arena, 1, 0, 1);
  step(arena, 1, 1, 1);
  BOOST_TEST(arena.begin(0, 1).from.front() == 1.0F);
  BOOST_TEST(arena.begin(1, 2).from.front() == 2.0F);
}

BOOST_AUTO_TEST_SUITE_END()
