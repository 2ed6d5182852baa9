// What `inspect` says of a model's size.
#pragma once

#include "runtime/model/opened_model.hpp"

#include <cstdint>

namespace troupe {

struct model_facts {
  uint64_t parameters_total = 0;
  /// Used for one token: the backbone and top_k experts of each MoE layer; the
  /// embedding counts only if it is also the output head.
  uint64_t parameters_active = 0;
  uint64_t expert_bytes = 0;   ///< Of one expert, as stored.
  uint64_t experts_bytes = 0;  ///< Of all experts, as stored.
  uint64_t backbone_bytes = 0; ///< Everything else, as stored.
  uint32_t moe_layers = 0;
  uint64_t experts_total = 0; ///< moe_layers x num_experts.
  uint64_t kv_bytes_bf16 = 0; ///< Per token, what attention keeps, all layers.
  uint64_t kv_bytes_f32 = 0;
};

model_facts facts_of(const opened_model& model);

} // namespace troupe
