// The single-process path. It uses the same grouping, kernels and rounding as a
// remote shard, so the bits are the same.
#include "runtime/engine/local_experts.hpp"

#include "kernels/router.hpp"
#include "runtime/assert.hpp"
#include "runtime/engine/backbone_weights.hpp"

#include <cmath>
#include <numeric>

namespace troupe {

result<routing> route(const router_config& config,
                      std::span<const float> logits, kernels::lanes& pool,
                      std::span<const float> logit_bias) {
  const size_t experts = config.num_experts;
  const size_t rows = logits.size() / experts;
  const size_t k = config.top_k;
  TROUPE_ASSERT(rows * experts == logits.size());
  routing out;
  out.top_k = config.top_k;
  out.experts.resize(rows * k);
  out.weights.resize(rows * k);
  kernels::router_options options;
  options.top_k = k;
  options.score = config.score;
  options.normalize = config.normalize;
  options.logit_bias = logit_bias;
  kernels::route(options, {logits.data(), rows, experts, experts},
                 {out.experts.data(), rows, k, k},
                 {out.weights.data(), rows, k, k}, pool);
  for (size_t i = 0; i < out.weights.size(); ++i)
    if (!std::isfinite(out.weights[i]))
      return fail(ec::not_finite,
                  "router: row {} has a score that is not finite", i / k);
  return out;
}

result<std::shared_ptr<const local_experts>>
local_experts::load(const opened_model& model, kernels::compute_options options,
                    kernels::lanes& pool) {
  const auto& config = model.config;
  std::vector<expert_id> all(config.router.num_experts);
  for (uint32_t e = 0; e < all.size(); ++e)
    all[e] = expert_id{e};
  auto out = std::make_shared<local_experts>();
  out->layers_.resize(config.num_layers);
  for (auto layer : moe_layers_of(config)) {
    auto x = layer_experts::load(model, layer, all, options, pool);
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
    pairs[p] = {p / choice.top_k, expert_id{choice.experts[p]}};
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
