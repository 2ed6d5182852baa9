// The gated delta rule (Yang et al., 2024, Gated Delta Networks) with a short
// convolution before queries, keys and values, and a gated norm behind. One
// recurrent form for prefill and decode.
#pragma once

#include "kernels/norm.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/mixer_call.hpp"

namespace troupe {

class gated_delta_mixer {
public:
  gated_delta_mixer(const model_config& config, mixer_options options);

  void run(const gated_delta_weights& w, const mixer_call& call,
           mixer_pass& pass);

private:
  gated_delta_config config_;
  mixer_options options_;
  kernels::norm_options norm_;

  // [rows_max, ...]
  f32_scratch qkvz_;  ///< [conv_size + value_size]: q, k, v, then the gate z
  f32_scratch ba_;    ///< [2 value_heads]: b, then a
  f32_scratch mixed_; ///< [conv_size]: q, k, v after the convolution
  f32_scratch read_;  ///< [value_size]: what the rule reads
  hidden_rows round_; ///< [value_size], normed, gated and rounded
};

} // namespace troupe
