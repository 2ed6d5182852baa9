// Multi-head latent attention in its absorbed form (DeepSeek-AI, 2024,
// DeepSeek-V2, section 2.1): the cache holds one vector a token, the normed
// latent and the shared rope key. Each head takes its query to the latent,
// attends there, and takes the result to its value.
//
//   query of head h = [key_up_h q_nope | rope(q_rope)]     [kv_lora + rope]
//   key             = [norm(latent)    | rope(k_rope)]     value: the latent
//   value of head h = value_up_h (sum of weights * latent)
#pragma once

#include "kernels/norm.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/mixer_call.hpp"

namespace troupe {

class mla_mixer {
public:
  mla_mixer(const model_config& config, mixer_options options);

  void run(const mla_weights& w, const mixer_call& call, mixer_pass& pass);

private:
  void make_queries(const mla_weights& w, const mixer_call& call,
                    mixer_pass& pass);
  void absorb(const mla_weights& w, const mixer_call& call, mixer_pass& pass);
  void make_keys(const mla_weights& w, const mixer_call& call,
                 mixer_pass& pass);
  void attend(const mixer_call& call, mixer_pass& pass);
  void turn(f32_scratch& x, mixer_pass& pass);

  attention_config attention_;
  mla_config config_;
  mixer_options options_;
  kernels::norm_options norm_; ///< Of the latents.

  // [rows_max, ...]
  f32_scratch q_latent_;       ///< [q_lora_rank]
  hidden_rows q_latent_round_; ///< the same, normed and rounded
  f32_scratch q_;              ///< [heads * query_dim]
  hidden_rows q_round_;        ///< the same, rounded
  f32_scratch q_rope_;         ///< [heads * rope_dim]
  f32_scratch absorbed_;       ///< [heads * (kv_lora_rank + rope_dim)]
  f32_scratch key_;            ///< [kv_lora_rank + rope_dim]
  f32_scratch k_rope_;         ///< [rope_dim]
  hidden_rows latent_;         ///< [heads * kv_lora_rank]: attention's result
  f32_scratch value_;          ///< [heads * value_dim]
  hidden_rows value_round_;    ///< the same, rounded
};

} // namespace troupe
