#include "runtime/engine/memory_needs.hpp"

#include "kernels/matmul.hpp"
#include "runtime/assert.hpp"
#include "runtime/engine/kv_cache.hpp"
#include "runtime/engine/layer_experts.hpp"
#include "runtime/engine/moe_exchange.hpp"
#include "runtime/engine/recurrent_state.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Bytes of the packed matrices of a model's backbone: what `backbone_weights`
/// adds up once they are loaded.
class packed_sizes {
public:
  packed_sizes(const opened_model& model, kernels::compute_options options)
    : model_(model), config_(model.config), options_(options) {
    // nop
  }

  uint64_t head() const {
    return matrix(config_.vocab_size, config_.hidden_size);
  }

  uint64_t layers() const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < config_.num_layers; ++i)
      sum += mixer(layer_index{i}) + ffn(layer_index{i});
    return sum;
  }

private:
  /// A tensor that is packed as stored.
  uint64_t stored(layer_index layer, std::string_view role, size_t outputs,
                  size_t inputs) const {
    const auto* info = model_.files.find(model_.tensors.name(role, layer));
    const bool fp8 = info->dtype == kernels::dtype::f8_e4m3;
    const auto format =
      fp8 ? kernels::weight_format::fp8_block : kernels::weight_format::plain;
    return kernels::packed_weight::bytes_needed({outputs, inputs, format},
                                                options_);
  }

  /// A matrix that is expanded and cut, or never quantised.
  uint64_t matrix(size_t outputs, size_t inputs) const {
    return kernels::packed_weight::bytes_needed(outputs, inputs, options_);
  }

  const layer_recipe& recipe(layer_index layer) const {
    return config_.layers[layer.value];
  }

  uint64_t mixer(layer_index layer) const {
    const size_t hidden = config_.hidden_size;
    switch (recipe(layer).mixer) {
    case mixer_kind::gqa:
      return gqa(layer);
    case mixer_kind::mla:
      return mla(layer);
    case mixer_kind::short_conv:
      return matrix(3 * hidden, hidden) + matrix(hidden, hidden);
    case mixer_kind::gated_delta:
      return gated_delta();
    }
    return 0;
  }

  uint64_t gqa(layer_index layer) const {
    const auto& x = config_.attention;
    const size_t hidden = config_.hidden_size;
    const size_t queries = x.q_size();
    uint64_t sum = stored(layer, "k_proj", x.kv_size(), hidden) +
                   stored(layer, "v_proj", x.kv_size(), hidden) +
                   stored(layer, "o_proj", hidden, queries);
    if (x.gate == output_gate::in_query)
      return sum + 2 * matrix(queries, hidden);
    if (x.gate == output_gate::separate)
      sum += stored(layer, "attention_gate", queries, hidden);
    return sum + stored(layer, "q_proj", queries, hidden);
  }

  uint64_t mla(layer_index layer) const {
    const auto& x = config_.mla;
    const size_t heads = config_.attention.heads;
    const size_t hidden = config_.hidden_size;
    const size_t queries = heads * x.query_dim();
    const auto query = x.q_lora_rank == 0
                         ? stored(layer, "q_proj", queries, hidden)
                         : stored(layer, "q_a_proj", x.q_lora_rank, hidden) +
                             stored(layer, "q_b_proj", queries, x.q_lora_rank);
    return query +
           stored(layer, "kv_a_proj", x.kv_lora_rank + x.rope_dim, hidden) +
           heads * (matrix(x.kv_lora_rank, x.nope_dim) +
                    matrix(x.value_dim, x.kv_lora_rank)) +
           stored(layer, "o_proj", hidden, heads * x.value_dim);
  }

  uint64_t gated_delta() const {
    const auto& x = config_.gated_delta;
    const size_t hidden = config_.hidden_size;
    return matrix(x.conv_size() + x.value_size(), hidden) +
           matrix(2 * size_t{x.value_heads}, hidden) +
           matrix(hidden, x.value_size());
  }

  uint64_t ffn(layer_index layer) const {
    const size_t hidden = config_.hidden_size;
    const size_t dense = config_.ffn.dense_size;
    if (recipe(layer).ffn == ffn_kind::dense)
      return stored(layer, "dense_gate", dense, hidden) +
             stored(layer, "dense_up", dense, hidden) +
             stored(layer, "dense_down", hidden, dense);
    const auto router = matrix(config_.router.num_experts, hidden);
    const size_t shared = config_.ffn.shared_size;
    if (shared == 0)
      return router;
    return router + stored(layer, "shared_gate", shared, hidden) +
           stored(layer, "shared_up", shared, hidden) +
           stored(layer, "shared_down", hidden, shared) +
           (config_.ffn.shared_gate ? matrix(1, hidden) : 0);
  }

  const opened_model& model_;
  const model_config& config_;
  kernels::compute_options options_;
};

/// The embedding stays as stored; half floats are expanded.
uint64_t embedding_bytes(const opened_model& model) {
  const auto* info = model.files.find(model.tensors.name("embedding"));
  TROUPE_ASSERT(info != nullptr);
  const auto element = info->dtype == kernels::dtype::bf16 ? 2 : 4;
  return uint64_t{model.config.vocab_size} * model.config.hidden_size *
         static_cast<uint64_t>(element);
}

} // namespace

memory_needs memory_needs_of(const opened_model& model,
                             kernels::compute_options options) {
  const auto& config = model.config;
  const packed_sizes sizes{model, options};
  memory_needs out;
  out.backbone_bytes = embedding_bytes(model) + sizes.head() + sizes.layers();
  out.experts = uint64_t{config.moe_layers()} * config.router.num_experts;
  if (out.experts > 0)
    out.expert_bytes = packed_expert_bytes(config, options);
  out.kv_bytes_per_token =
    kv_cache::block_bytes(config, row_type(options.mode)) /
    kv_cache::block_tokens();
  out.state_bytes_per_sequence = state_layout{config}.sequence_bytes();
  return out;
}

uint64_t weight_bytes_per_token(const opened_model& model,
                                kernels::compute_options options) {
  const auto needs = memory_needs_of(model, options);
  const auto& config = model.config;
  return needs.backbone_bytes - embedding_bytes(model) +
         uint64_t{config.moe_layers()} * config.router.top_k *
           needs.expert_bytes;
}

wire_bytes wire_bytes_per_token(const model_config& config, uint32_t nodes,
                                kernels::numeric_mode mode) {
  const auto row =
    uint64_t{config.hidden_size} * kernels::size_of(row_type(mode));
  const auto layers = uint64_t{config.moe_layers()};
  const auto hit = std::min(nodes, config.router.top_k);
  return {layers * row * hit,
          nodes == 0 ? 0 : layers * row * config.router.top_k};
}

} // namespace troupe
