// The one table per property: how families, recipes and messages write it.
#pragma once

#include "config/toml_reader.hpp"
#include "runtime/model/model_config.hpp"

namespace troupe {

inline constexpr enum_name<attention_kind> attention_kind_names[]{
  {"gqa", attention_kind::gqa}};

inline constexpr enum_name<ffn_kind> ffn_kind_names[]{
  {"dense", ffn_kind::dense}, {"moe", ffn_kind::moe}};

inline constexpr enum_name<kernels::rope_pairs> rope_pairs_names[]{
  {"half_split", kernels::rope_pairs::half_split},
  {"interleaved", kernels::rope_pairs::interleaved}};

inline constexpr enum_name<kernels::router_score> router_score_names[]{
  {"softmax", kernels::router_score::softmax},
  {"softmax_selected", kernels::router_score::softmax_selected},
  {"sigmoid", kernels::router_score::sigmoid}};

} // namespace troupe
