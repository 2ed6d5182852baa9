// The one table of what tensors a model can be made of. A family file gives
// each role it has a name pattern and a shape.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

/// How many tensors a role stands for.
enum class tensor_scope { model, layer, expert };

struct tensor_role {
  std::string_view name;
  tensor_scope scope;
  size_t rank; ///< Dimensions; 0: any, what counts is the elements' order.
};

inline constexpr tensor_role tensor_roles[]{
  {"embedding", tensor_scope::model, 2},
  {"final_norm", tensor_scope::model, 1},
  {"final_norm_bias", tensor_scope::model, 1},
  {"lm_head", tensor_scope::model, 2},
  {"lm_head_bias", tensor_scope::model, 1},

  // Norms of a layer: before the mixer and the feed-forward, and after them.
  {"mixer_norm", tensor_scope::layer, 1},
  {"mixer_norm_bias", tensor_scope::layer, 1},
  {"ffn_norm", tensor_scope::layer, 1},
  {"ffn_norm_bias", tensor_scope::layer, 1},
  {"after_mixer_norm", tensor_scope::layer, 1},
  {"after_ffn_norm", tensor_scope::layer, 1},

  // Attention.
  {"q_proj", tensor_scope::layer, 2},
  {"k_proj", tensor_scope::layer, 2},
  {"v_proj", tensor_scope::layer, 2},
  {"o_proj", tensor_scope::layer, 2},
  {"q_bias", tensor_scope::layer, 1},
  {"k_bias", tensor_scope::layer, 1},
  {"v_bias", tensor_scope::layer, 1},
  {"o_bias", tensor_scope::layer, 1},
  {"q_norm", tensor_scope::layer, 1},
  {"k_norm", tensor_scope::layer, 1},
  {"sinks", tensor_scope::layer, 1},
  {"attention_gate", tensor_scope::layer, 2},

  // Latent attention; q_proj and o_proj too.
  {"q_a_proj", tensor_scope::layer, 2},
  {"q_a_bias", tensor_scope::layer, 1},
  {"q_a_norm", tensor_scope::layer, 1},
  {"q_b_proj", tensor_scope::layer, 2},
  {"kv_a_proj", tensor_scope::layer, 2},
  {"kv_a_bias", tensor_scope::layer, 1},
  {"kv_a_norm", tensor_scope::layer, 1},
  {"kv_b_proj", tensor_scope::layer, 2},

  // Short convolution.
  {"conv_in", tensor_scope::layer, 2},
  {"conv_in_bias", tensor_scope::layer, 1},
  {"conv_weight", tensor_scope::layer, 3},
  {"conv_bias", tensor_scope::layer, 1},
  {"conv_out", tensor_scope::layer, 2},
  {"conv_out_bias", tensor_scope::layer, 1},

  // Gated delta rule.
  {"delta_qkvz", tensor_scope::layer, 2},
  {"delta_ba", tensor_scope::layer, 2},
  {"delta_conv", tensor_scope::layer, 3},
  {"delta_a_log", tensor_scope::layer, 1},
  {"delta_dt_bias", tensor_scope::layer, 1},
  {"delta_norm", tensor_scope::layer, 1},
  {"delta_out", tensor_scope::layer, 2},

  // Feed-forward of a layer.
  {"router", tensor_scope::layer, 2},
  {"router_bias", tensor_scope::layer, 1},
  {"selection_bias", tensor_scope::layer, 0},
  {"shared_gate", tensor_scope::layer, 2},
  {"shared_up", tensor_scope::layer, 2},
  {"shared_down", tensor_scope::layer, 2},
  {"shared_weight", tensor_scope::layer, 2}, // of the shared expert's sigmoid
  {"dense_gate", tensor_scope::layer, 2},
  {"dense_up", tensor_scope::layer, 2},
  {"dense_down", tensor_scope::layer, 2},

  // Experts, each by itself or all in one tensor.
  {"expert_gate", tensor_scope::expert, 2},
  {"expert_up", tensor_scope::expert, 2},
  {"expert_down", tensor_scope::expert, 2},
  {"experts_gate_up", tensor_scope::layer, 3},
  {"experts_down", tensor_scope::layer, 3},
  {"experts_gate_up_bias", tensor_scope::layer, 2},
  {"experts_down_bias", tensor_scope::layer, 2},
  {"experts_gate_up_blocks", tensor_scope::layer, 4},
  {"experts_gate_up_scales", tensor_scope::layer, 3},
  {"experts_down_blocks", tensor_scope::layer, 4},
  {"experts_down_scales", tensor_scope::layer, 3},
};

} // namespace troupe
