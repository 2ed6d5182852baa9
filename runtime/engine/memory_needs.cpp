#include "runtime/engine/memory_needs.hpp"

#include "kernels/matmul.hpp"
#include "runtime/assert.hpp"
#include "runtime/engine/kv_cache.hpp"
#include "runtime/engine/layer_experts.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Sizes of the packed matrices of a recipe.
class packed_sizes {
public:
  packed_sizes(const model_config& config, kernels::compute_options options)
    : config_(config), options_(options) {
    // nop
  }

  uint64_t matrix(size_t outputs, size_t inputs) const {
    return kernels::packed_weight::bytes_needed(outputs, inputs, options_);
  }

  uint64_t head() const {
    return matrix(config_.vocab_size, config_.hidden_size);
  }

  uint64_t layers() const {
    uint64_t sum = 0;
    for (const auto& layer : config_.layers)
      sum += attention() + ffn(layer);
    return sum;
  }

private:
  uint64_t attention() const {
    const auto& x = config_.attention;
    return matrix(x.q_size(), config_.hidden_size) +
           2 * matrix(x.kv_size(), config_.hidden_size) +
           matrix(config_.hidden_size, x.q_size());
  }

  uint64_t ffn(const layer_recipe& layer) const {
    if (layer.ffn == ffn_kind::moe)
      return matrix(config_.router.num_experts, config_.hidden_size);
    return 2 * matrix(layer.ffn_size, config_.hidden_size) +
           matrix(config_.hidden_size, layer.ffn_size);
  }

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
  const packed_sizes sizes{config, options};
  memory_needs out;
  out.backbone_bytes = embedding_bytes(model) + sizes.head() + sizes.layers();
  out.experts = uint64_t{config.moe_layers()} * config.router.num_experts;
  if (out.experts > 0)
    out.expert_bytes = packed_expert_bytes(config, options);
  out.kv_bytes_per_token =
    kv_cache::block_bytes(config, row_type(options.mode)) /
    kv_cache::block_tokens();
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
