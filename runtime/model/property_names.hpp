// The one table per property: how families, recipes and messages write it.
#pragma once

#include "config/toml_reader.hpp"
#include "runtime/model/model_family.hpp"

namespace troupe {

inline constexpr enum_name<mixer_kind> mixer_kind_names[]{
  {"gqa", mixer_kind::gqa},
  {"mla", mixer_kind::mla},
  {"short_conv", mixer_kind::short_conv},
  {"gated_delta", mixer_kind::gated_delta}};

inline constexpr enum_name<ffn_kind> ffn_kind_names[]{
  {"dense", ffn_kind::dense}, {"moe", ffn_kind::moe}};

inline constexpr enum_name<norm_kind> norm_kind_names[]{
  {"rms", norm_kind::rms}, {"layer", norm_kind::layer}};

inline constexpr enum_name<qk_norm_kind> qk_norm_kind_names[]{
  {"none", qk_norm_kind::none},
  {"per_head", qk_norm_kind::per_head},
  {"whole", qk_norm_kind::whole}};

inline constexpr enum_name<qk_norm_place> qk_norm_place_names[]{
  {"before_rope", qk_norm_place::before_rope},
  {"after_rope", qk_norm_place::after_rope}};

inline constexpr enum_name<output_gate> output_gate_names[]{
  {"none", output_gate::none},
  {"separate", output_gate::separate},
  {"in_query", output_gate::in_query}};

inline constexpr enum_name<kernels::rope_pairs> rope_pairs_names[]{
  {"half_split", kernels::rope_pairs::half_split},
  {"interleaved", kernels::rope_pairs::interleaved}};

inline constexpr enum_name<kernels::router_score> router_score_names[]{
  {"softmax", kernels::router_score::softmax},
  {"softmax_selected", kernels::router_score::softmax_selected},
  {"sigmoid", kernels::router_score::sigmoid},
  {"sigmoid_selected", kernels::router_score::sigmoid_selected},
  {"sparsemixer", kernels::router_score::sparsemixer}};

inline constexpr enum_name<kernels::group_score> group_score_names[]{
  {"best", kernels::group_score::best},
  {"sum_of_two", kernels::group_score::sum_of_two}};

inline constexpr enum_name<kernels::router_epsilon> router_epsilon_names[]{
  {"added", kernels::router_epsilon::added},
  {"floor", kernels::router_epsilon::floor}};

inline constexpr enum_name<kernels::rope_scaling_kind> rope_scaling_names[]{
  {"none", kernels::rope_scaling_kind::none},
  {"linear", kernels::rope_scaling_kind::linear},
  {"llama3", kernels::rope_scaling_kind::llama3},
  {"yarn", kernels::rope_scaling_kind::yarn},
  {"longrope", kernels::rope_scaling_kind::longrope}};

inline constexpr enum_name<expert_layout> expert_layout_names[]{
  {"separate", expert_layout::separate}, {"fused", expert_layout::fused}};

inline constexpr enum_name<weight_format> weight_format_names[]{
  {"plain", weight_format::plain},
  {"fp8_block", weight_format::fp8_block},
  {"mxfp4", weight_format::mxfp4}};

inline constexpr enum_name<layer_type> layer_type_names[]{
  {"full_attention", layer_type::full},
  {"sliding_attention", layer_type::sliding},
  {"chunked_attention", layer_type::chunked},
  {"linear_attention", layer_type::linear},
  {"conv", layer_type::conv}};

inline constexpr enum_name<rope_rule> rope_rule_names[]{
  {"all", rope_rule::all},
  {"sliding", rope_rule::sliding},
  {"listed", rope_rule::listed}};

/// As config.json writes them. All are gated: f(gate(x)) * up(x).
inline constexpr enum_name<kernels::activation_kind> activation_names[]{
  {"silu", kernels::activation_kind::silu},
  {"swish", kernels::activation_kind::silu},
  {"gelu_pytorch_tanh", kernels::activation_kind::gelu_tanh},
  {"clamped_swish", kernels::activation_kind::clamped_swish}};

} // namespace troupe
