#include "runtime/model/model_facts.hpp"

#include "runtime/model/expert_source.hpp"

#include <functional>
#include <numeric>

namespace troupe {

namespace {

/// Parameters of one expert: gate, up and down, and their biases.
uint64_t expert_parameters(const model_config& x) {
  const uint64_t hidden = x.hidden_size;
  const uint64_t inner = x.ffn.expert_size;
  return 3 * hidden * inner + (x.ffn.experts.bias ? 2 * inner + hidden : 0);
}

/// Elements that attention keeps of a token, in all layers.
uint64_t kept_elements(const model_config& x) {
  uint64_t sum = 0;
  for (auto& layer : x.layers) {
    if (layer.mixer == mixer_kind::gqa)
      sum += uint64_t{2} * x.attention.kv_size();
    if (layer.mixer == mixer_kind::mla)
      sum += uint64_t{x.mla.kv_lora_rank} + x.mla.rope_dim;
  }
  return sum;
}

uint64_t elements(const tensor_info& x) {
  return std::accumulate(x.shape.begin(), x.shape.end(), uint64_t{1},
                         std::multiplies<>{});
}

/// Scales of a quantised matrix are part of its storage, not parameters.
bool is_scale(const tensor_info& x) {
  constexpr std::string_view ending = "_scale_inv";
  return std::string_view{x.name}.ends_with(ending);
}

} // namespace

model_facts facts_of(const opened_model& model) {
  auto& config = model.config;
  model_facts x;
  x.moe_layers = config.moe_layers();
  x.experts_total = uint64_t{x.moe_layers} * config.router.num_experts;
  for (uint32_t i = 0; i < config.num_layers; ++i) {
    if (config.layers[i].ffn != ffn_kind::moe)
      continue;
    for (uint32_t e = 0; e < config.router.num_experts; ++e)
      x.experts_bytes +=
        expert_storage_bytes(model, layer_index{i}, expert_id{e});
  }
  if (x.experts_total > 0)
    x.expert_bytes = x.experts_bytes / x.experts_total;
  uint64_t backbone = 0;
  for (auto* info : model.tensors.backbone(model.files)) {
    x.backbone_bytes += info->bytes;
    if (!is_scale(*info))
      backbone += elements(*info);
  }
  auto embedding = uint64_t{config.vocab_size} * config.hidden_size;
  x.parameters_total = backbone + x.experts_total * expert_parameters(config);
  // Looking one row up is not computing with a matrix.
  x.parameters_active =
    backbone - (config.tied_embeddings ? 0 : embedding) +
    uint64_t{x.moe_layers} * config.router.top_k * expert_parameters(config);
  auto kv_elements = kept_elements(config);
  x.kv_bytes_bf16 = kv_elements * 2;
  x.kv_bytes_f32 = kv_elements * 4;
  return x;
}

} // namespace troupe
