// The single-process path. It uses the same grouping, kernels and rounding as a
// remote shard, so the bits are the same.
#include "runtime/engine/local_experts.hpp"

#include "kernels/router.hpp"
#include "runtime/assert.hpp"
#include "runtime/engine/backbone_weights.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace troupe {

result<routing> route(const router_config& config, const moe_request& x,
                      kernels::lanes& pool, std::span<const float> logit_bias) {
  const size_t experts = config.num_experts;
  const size_t rows = x.router_logits.size() / experts;
  const size_t k = config.top_k;
  TROUPE_ASSERT(rows * experts == x.router_logits.size());
  routing out;
  out.top_k = config.top_k;
  out.experts.resize(rows * k);
  out.weights.resize(rows * k);
  auto options = kernels_options(config);
  options.logit_bias = logit_bias;
  if (x.selection_bias)
    options.selection_bias = *x.selection_bias;
  kernels::route(options, {x.router_logits.data(), rows, experts, experts},
                 {out.experts.data(), rows, k, k},
                 {out.weights.data(), rows, k, k}, pool);
  for (size_t i = 0; i < out.weights.size(); ++i)
    if (!std::isfinite(out.weights[i]))
      return fail(ec::not_finite,
                  "router: row {} has a score that is not finite", i / k);
  if (config.scales_input)
    out.input_weights =
      std::exchange(out.weights, std::vector<float>(rows * k, 1.0F));
  return out;
}

result<std::shared_ptr<const local_experts>>
local_experts::load(packed_images& images, kernels::lanes& pool) {
  const auto& config = images.model().config;
  std::vector<expert_id> all(config.router.num_experts);
  for (uint32_t e = 0; e < all.size(); ++e)
    all[e] = expert_id{e};
  auto out = std::make_shared<local_experts>();
  out->layers_.resize(config.num_layers);
  for (auto layer : moe_layers_of(config)) {
    auto x = layer_experts::load(images, layer, all, pool);
    if (!x)
      return tl::unexpected{x.error()};
    out->layers_[layer.value] = std::move(*x);
  }
  return out;
}

moe_response local_experts::run(const moe_request& x, routing choice,
                                kernels::dtype reply,
                                kernels::lanes& pool) const {
  const auto* experts = layer(x.layer);
  TROUPE_ASSERT(experts != nullptr);
  TROUPE_ASSERT(choice.pairs() == x.rows->rows * choice.top_k);
  std::vector<expert_pair> pairs(choice.pairs());
  for (uint32_t p = 0; p < pairs.size(); ++p)
    pairs[p] = {p / choice.top_k, expert_id{choice.experts[p]},
                choice.input_weight(p)};
  auto out = replies_.take(pairs.size(), x.rows->cols, reply);
  run_expert_batch(
    x.rows->view(), pairs, [&](expert_id e) { return experts->find(e); },
    out->output(), pool);
  moe_response y;
  y.pass = x.pass;
  y.layer = x.layer;
  y.top_k = choice.top_k;
  y.type = reply;
  y.weights = std::move(choice.weights);
  for (size_t p = 0; p < pairs.size(); ++p)
    y.pairs.push_back(out->row(p));
  y.owners.push_back(std::move(out));
  return y;
}

const layer_experts* local_experts::layer(layer_index x) const {
  return x.value < layers_.size() ? layers_[x.value].get() : nullptr;
}

uint64_t local_experts::size_bytes() const noexcept {
  return std::accumulate(layers_.begin(), layers_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& x) {
                           return sum + (x ? x->size_bytes() : 0);
                         });
}

} // namespace troupe
