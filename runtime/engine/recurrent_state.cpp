#include "runtime/engine/recurrent_state.hpp"

#include "kernels/gated_delta.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <new>

namespace troupe {

namespace {

/// Floats of a convolution's memory.
size_t input_floats(uint32_t taps, size_t channels) {
  return (taps - 1) * channels;
}

} // namespace

state_layout::state_layout(const model_config& config)
  : layers_(config.num_layers) {
  const auto& delta = config.gated_delta;
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& x = layers_[i];
    x.begin = floats_;
    switch (config.layers[i].mixer) {
    case mixer_kind::gqa:
    case mixer_kind::mla:
      break;
    case mixer_kind::short_conv:
      x.inputs = input_floats(config.short_conv.kernel, config.hidden_size);
      break;
    case mixer_kind::gated_delta:
      x.inputs = input_floats(delta.kernel, delta.conv_size());
      x.matrices =
        kernels::gated_delta_options{.key_heads = delta.key_heads,
                                     .value_heads = delta.value_heads,
                                     .key_dim = delta.key_dim,
                                     .value_dim = delta.value_dim,
                                     .a_log = {},
                                     .dt_bias = {}}
          .state_size();
      break;
    }
    floats_ += x.inputs + x.matrices;
  }
}

layer_state state_layout::part(std::span<float> state, uint32_t layer) const {
  TROUPE_ASSERT(state.size() == floats_ && layer < layers_.size());
  const auto& x = layers_[layer];
  return {state.subspan(x.begin, x.inputs),
          state.subspan(x.begin + x.inputs, x.matrices)};
}

result<state_arena> state_arena::make(state_layout layout, uint32_t sequences) {
  const auto bytes = layout.sequence_bytes() * sequences;
  state_arena out;
  out.layout_ = std::move(layout);
  out.marks_.resize(sequences);
  try {
    out.memory_ = kernels::aligned_buffer{bytes};
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory,
                "recurrent layers: the system has no {} bytes for the states "
                "of {} sequences; lower the bound of the KV cache",
                bytes, sequences);
  }
  return out;
}

std::span<float> state_arena::copy(uint32_t id, uint32_t which) {
  const auto floats = layout_->floats();
  return memory_.as<float>().subspan((2 * size_t{id} + which) * floats, floats);
}

state_arena::step state_arena::begin(uint32_t id, uint32_t position) {
  TROUPE_ASSERT(id < marks_.size());
  auto& x = marks_[id];
  if (position == 0) {
    // Whatever an earlier owner of the slot left is nobody's past.
    x.after[0] = 0;
    std::ranges::fill(copy(id, 0), 0.0F);
    x.written = 1;
  } else {
    TROUPE_ASSERT(x.after[0] == position || x.after[1] == position);
    x.written = x.after[0] == position ? 1 : 0;
  }
  x.after[x.written].reset();
  return {copy(id, 1 - x.written), copy(id, x.written)};
}

void state_arena::end(uint32_t id, uint32_t position) {
  TROUPE_ASSERT(id < marks_.size());
  auto& x = marks_[id];
  x.after[x.written] = position;
}

} // namespace troupe
