// The gated short convolution: [B, C, x] = in(h); y = out(C * conv(B * x)).
// The state is the last inputs of the convolution.
#pragma once

#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/mixer_call.hpp"

namespace troupe {

class short_conv_mixer {
public:
  short_conv_mixer(const model_config& config, mixer_options options);

  void run(const short_conv_weights& w, const mixer_call& call,
           mixer_pass& pass);

private:
  size_t hidden_;
  short_conv_config config_;
  mixer_options options_;

  // [rows_max, ...]
  f32_scratch parts_; ///< [3 H]: B, C, x
  f32_scratch mixed_; ///< [H]: what the convolution gives
  hidden_rows round_; ///< [H], rounded
};

} // namespace troupe
