// The one table of what tensors a model can be made of, and the sizes their
// shapes are written in. A family file gives each role a name pattern.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe {

/// How many tensors a role stands for.
enum class tensor_scope { model, layer, expert };

struct tensor_role {
  std::string_view name;
  tensor_scope scope;
  size_t rank; ///< Dimensions.
};

inline constexpr tensor_role tensor_roles[]{
  {"embedding", tensor_scope::model, 2},
  {"final_norm", tensor_scope::model, 1},
  {"lm_head", tensor_scope::model, 2},
  {"attention_norm", tensor_scope::layer, 1},
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
  {"ffn_norm", tensor_scope::layer, 1},
  {"router", tensor_scope::layer, 2},
  {"dense_gate", tensor_scope::layer, 2},
  {"dense_up", tensor_scope::layer, 2},
  {"dense_down", tensor_scope::layer, 2},
  {"expert_gate", tensor_scope::expert, 2},
  {"expert_up", tensor_scope::expert, 2},
  {"expert_down", tensor_scope::expert, 2},
};

/// Sizes a pattern's shape may name.
inline constexpr std::string_view size_names[]{
  "hidden_size", "vocab_size", "q_size",      "kv_size",     "head_dim",
  "heads",       "kv_heads",   "num_experts", "expert_size", "dense_size"};

} // namespace troupe
