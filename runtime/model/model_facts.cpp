#include "runtime/model/model_facts.hpp"

#include "runtime/model/expert_source.hpp"

#include <functional>
#include <numeric>

namespace troupe {

namespace {

/// Parameters of one expert: gate, up and down.
uint64_t expert_parameters(const model_config& x) {
  return uint64_t{3} * x.hidden_size * x.ffn.expert_size;
}

uint64_t elements(const tensor_info& x) {
  return std::accumulate(x.shape.begin(), x.shape.end(), uint64_t{1},
                         std::multiplies<>{});
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
    backbone += elements(*info);
    x.backbone_bytes += info->bytes;
  }
  auto embedding = uint64_t{config.vocab_size} * config.hidden_size;
  x.parameters_total = backbone + x.experts_total * expert_parameters(config);
  // Looking one row up is not computing with a matrix.
  x.parameters_active =
    backbone - (config.tied_embeddings ? 0 : embedding) +
    uint64_t{x.moe_layers} * config.router.top_k * expert_parameters(config);
  auto kv_elements =
    uint64_t{2} * config.num_layers * config.attention.kv_size();
  x.kv_bytes_bf16 = kv_elements * 2;
  x.kv_bytes_f32 = kv_elements * 4;
  return x;
}

} // namespace troupe
