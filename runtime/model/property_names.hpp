// The one table per property: how families, recipes and messages write it.
#pragma once

#include "config/toml_reader.hpp"
#include "runtime/model/model_config.hpp"

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
  {"sigmoid", kernels::router_score::sigmoid}};

inline constexpr enum_name<group_score> group_score_names[]{
  {"best", group_score::best}, {"two_best", group_score::two_best}};

inline constexpr enum_name<epsilon_use> epsilon_use_names[]{
  {"added", epsilon_use::added}, {"floor", epsilon_use::floor}};

inline constexpr enum_name<expert_layout> expert_layout_names[]{
  {"separate", expert_layout::separate}, {"fused", expert_layout::fused}};

inline constexpr enum_name<weight_format> weight_format_names[]{
  {"plain", weight_format::plain},
  {"fp8_block", weight_format::fp8_block},
  {"mxfp4", weight_format::mxfp4}};

} // namespace troupe
