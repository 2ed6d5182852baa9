#include "runtime/model/required_tensors.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/size_expression.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace troupe {

namespace {

using roles = std::vector<std::string_view>;

/// Matrices that quantised checkpoints keep in FP8, or leave as they were. An
/// embedding, a router or the output head is never quantised.
constexpr std::string_view linear_roles[]{
  "q_proj",    "k_proj",      "v_proj",     "o_proj",    "attention_gate",
  "q_a_proj",  "q_b_proj",    "kv_a_proj",  "kv_b_proj", "shared_gate",
  "shared_up", "shared_down", "dense_gate", "dense_up",  "dense_down"};

void append(roles& out, std::initializer_list<std::string_view> more) {
  for (auto x : more)
    out.push_back(x);
}

void add_gqa(roles& out, const attention_config& x, const layer_recipe& layer) {
  append(out, {"q_proj", "k_proj", "v_proj"});
  if (x.qkv_bias)
    append(out, {"q_bias", "k_bias", "v_bias"});
  bool skipped = x.qk_norm.rope_layers_only && !layer.rope;
  if (x.qk_norm.kind != qk_norm_kind::none && x.qk_norm.weighted && !skipped)
    append(out, {"q_norm", "k_norm"});
  if (x.sinks)
    append(out, {"sinks"});
  if (x.gate == output_gate::separate)
    append(out, {"attention_gate"});
  append(out, {"o_proj"});
  if (x.output_bias)
    append(out, {"o_bias"});
}

void add_mla(roles& out, const model_config& config) {
  auto& x = config.attention;
  if (config.mla.q_lora_rank == 0) {
    append(out, {"q_proj"});
  } else {
    append(out, {"q_a_proj", "q_a_norm", "q_b_proj"});
    if (x.qkv_bias)
      append(out, {"q_a_bias"});
  }
  append(out, {"kv_a_proj", "kv_a_norm", "kv_b_proj", "o_proj"});
  if (x.qkv_bias)
    append(out, {"kv_a_bias"});
  if (x.output_bias)
    append(out, {"o_bias"});
}

void add_mixer(roles& out, const model_config& config,
               const layer_recipe& layer) {
  switch (layer.mixer) {
  case mixer_kind::gqa:
    return add_gqa(out, config.attention, layer);
  case mixer_kind::mla:
    return add_mla(out, config);
  case mixer_kind::short_conv:
    append(out, {"conv_in", "conv_weight", "conv_out"});
    if (config.short_conv.bias)
      append(out, {"conv_in_bias", "conv_bias", "conv_out_bias"});
    return;
  case mixer_kind::gated_delta:
    return append(out, {"delta_qkvz", "delta_ba", "delta_conv", "delta_a_log",
                        "delta_dt_bias", "delta_norm", "delta_out"});
  }
}

void add_ffn(roles& out, const model_config& config,
             const layer_recipe& layer) {
  if (layer.ffn == ffn_kind::dense)
    return append(out, {"dense_gate", "dense_up", "dense_down"});
  append(out, {"router"});
  if (config.router.logit_bias)
    append(out, {"router_bias"});
  if (config.router.selection_bias)
    append(out, {"selection_bias"});
  if (config.ffn.shared_size == 0)
    return;
  append(out, {"shared_gate", "shared_up", "shared_down"});
  if (config.ffn.shared_gate)
    append(out, {"shared_weight"});
}

/// One kind of tensor that is needed.
struct need {
  std::string_view role;
  layer_index layer;
  expert_id expert;
};

stored_as type_of(std::string_view role, weight_format format) {
  if (role.ends_with("_blocks") || role.ends_with("_scales"))
    return stored_as::raw_bytes;
  if (format != weight_format::fp8_block)
    return stored_as::floats;
  // All experts are stored alike, so that all have the same size.
  if (role.starts_with("expert_"))
    return stored_as::fp8;
  bool linear = std::find(std::begin(linear_roles), std::end(linear_roles),
                          role) != std::end(linear_roles);
  return linear ? stored_as::any : stored_as::floats;
}

result<required_tensor> require(const model_config& config,
                                const model_family& family, const need& x) {
  auto entry = family.tensors.find(std::string{x.role});
  if (entry == family.tensors.end())
    return fail(ec::invalid_argument,
                "{}: tensors.{}: missing; this model's config.json asks for it",
                family.source, x.role);
  required_tensor out;
  out.role = x.role;
  out.name =
    config.tensor_prefix + full_name(entry->second.name, x.layer, x.expert);
  out.type = type_of(x.role, config.ffn.experts.format);
  for (auto& text : entry->second.shape) {
    auto size = size_of_expression(text, config);
    TROUPE_ASSERT(size.has_value()); // checked when the family was read
    out.shape.push_back(*size);
  }
  return out;
}

void replace(std::string& text, std::string_view part, uint32_t number) {
  auto at = text.find(part);
  if (at != std::string::npos)
    text.replace(at, part.size(), fmt::format("{}", number));
}

/// Collects tensors until one has no role.
class tensor_list {
public:
  tensor_list(const model_config& config, const model_family& family)
    : config_(config), family_(family) {
    // nop
  }

  void add(const need& x) {
    if (failure_)
      return;
    auto tensor = require(config_, family_, x);
    if (tensor)
      tensors_.push_back(std::move(*tensor));
    else
      failure_ = std::move(tensor).error();
  }

  result<std::vector<required_tensor>> finish() {
    if (failure_)
      return tl::unexpected(std::move(*failure_));
    return std::move(tensors_);
  }

private:
  const model_config& config_;
  const model_family& family_;
  std::vector<required_tensor> tensors_;
  std::optional<error> failure_;
};

} // namespace

std::vector<std::string_view> layer_roles(const model_config& config,
                                          const layer_recipe& layer) {
  roles out;
  append(out, {"mixer_norm"});
  bool biased = config.norm.kind == norm_kind::layer;
  if (biased)
    append(out, {"mixer_norm_bias"});
  add_mixer(out, config, layer);
  if (config.sandwich_norms)
    append(out, {"after_mixer_norm"});
  append(out, {"ffn_norm"});
  if (biased)
    append(out, {"ffn_norm_bias"});
  add_ffn(out, config, layer);
  if (config.sandwich_norms)
    append(out, {"after_ffn_norm"});
  return out;
}

std::vector<std::string_view> expert_roles(const expert_storage& experts) {
  roles out;
  if (experts.layout == expert_layout::separate)
    append(out, {"expert_gate", "expert_up", "expert_down"});
  else if (experts.format == weight_format::mxfp4)
    append(out, {"experts_gate_up_blocks", "experts_gate_up_scales",
                 "experts_down_blocks", "experts_down_scales"});
  else
    append(out, {"experts_gate_up", "experts_down"});
  if (experts.bias)
    append(out, {"experts_gate_up_bias", "experts_down_bias"});
  return out;
}

result<std::vector<required_tensor>>
backbone_tensors(const model_config& config, const model_family& family) {
  tensor_list list{config, family};
  list.add({"embedding", {}, {}});
  for (uint32_t i = 0; i < config.num_layers; ++i)
    for (auto role : layer_roles(config, config.layers[i]))
      list.add({role, layer_index{i}, {}});
  list.add({"final_norm", {}, {}});
  if (config.norm.kind == norm_kind::layer)
    list.add({"final_norm_bias", {}, {}});
  if (!config.tied_embeddings)
    list.add({"lm_head", {}, {}});
  if (config.head_bias)
    list.add({"lm_head_bias", {}, {}});
  return list.finish();
}

result<std::vector<required_tensor>> expert_tensors(const model_config& config,
                                                    const model_family& family,
                                                    layer_index layer) {
  TROUPE_ASSERT(layer.value < config.num_layers);
  TROUPE_ASSERT(config.layers[layer.value].ffn == ffn_kind::moe);
  auto& storage = config.ffn.experts;
  bool separate = storage.layout == expert_layout::separate;
  tensor_list list{config, family};
  for (uint32_t e = 0; e < (separate ? config.router.num_experts : 1); ++e)
    for (auto role : expert_roles(storage))
      list.add({role, layer, expert_id{e}});
  return list.finish();
}

std::string full_name(std::string pattern, layer_index layer,
                      expert_id expert) {
  replace(pattern, "{layer}", layer.value);
  replace(pattern, "{expert}", expert.value);
  return pattern;
}

std::string scale_name(std::string_view name) {
  return fmt::format("{}_scale_inv", name);
}

} // namespace troupe
