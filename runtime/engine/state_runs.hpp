// The states of a pass as the recurrent kernels take them: one run of rows per
// sequence.
#pragma once

#include "kernels/sequence_run.hpp"
#include "runtime/engine/mixer_call.hpp"

#include <vector>

namespace troupe {

/// `part` names the part of the layer's state.
inline std::vector<kernels::sequence_run>
state_runs(mixer_pass& pass, uint32_t layer,
           std::span<float> layer_state::*part) {
  const auto& states = pass.cache.states();
  std::vector<kernels::sequence_run> out;
  for (const auto& slot : pass.rows.slots())
    out.push_back({slot.count, states.part(slot.copies.from, layer).*part,
                   states.part(slot.copies.to, layer).*part});
  return out;
}

} // namespace troupe
