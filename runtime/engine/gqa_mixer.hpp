// Attention with grouped key/value heads: the mixer of most layers. Norms of
// queries and keys, RoPE, windows, sinks and gates as the recipe says.
#pragma once

#include "kernels/norm.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/mixer_call.hpp"

namespace troupe {

class gqa_mixer {
public:
  gqa_mixer(const model_config& config, mixer_options options);

  /// call.out = o(gate * attention(q, k, v)), keys and values stored first.
  void run(const gqa_weights& w, const mixer_call& call, mixer_pass& pass);

private:
  void project(const gqa_weights& w, const mixer_call& call, mixer_pass& pass);
  void norm(const gqa_weights& w, const mixer_call& call, mixer_pass& pass);
  void turn(const mixer_call& call, mixer_pass& pass);
  void warm(mixer_pass& pass);
  void attend(const gqa_weights& w, const mixer_call& call, mixer_pass& pass);

  attention_config config_;
  mixer_options options_;
  kernels::norm_options norm_;
  std::vector<float> ones_; ///< Weight of norms that have none.

  // [rows_max, ...]
  f32_scratch q_;        ///< [q_size]
  f32_scratch k_;        ///< [kv_size]
  f32_scratch v_;        ///< [kv_size]
  f32_scratch gate_;     ///< [q_size], with a gate
  f32_scratch open_;     ///< [q_size]: attention before its gate
  hidden_rows attended_; ///< [q_size], rounded
};

} // namespace troupe
