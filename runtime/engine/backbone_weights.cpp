// Loading of the backbone: one task per layer, and one for what is outside,
// each with a tape of its own, which plays back what the cache has.
#include "runtime/engine/backbone_weights.hpp"

#include "runtime/assert.hpp"
#include "runtime/engine/mixer_weights.hpp"
#include "runtime/engine/weight_loader.hpp"

namespace troupe {

namespace {

void load_ffn(weight_loader& from, const layer_recipe& layer,
              layer_weights& out) {
  const auto& config = from.config();
  if (layer.ffn == ffn_kind::dense) {
    from.load(out.dense.emplace(), {"dense_gate", "dense_up", "dense_down"});
    return;
  }
  from.load(out.router, "router");
  if (config.router.logit_bias)
    from.load(out.router_bias, "router_bias");
  if (config.router.selection_bias)
    from.load(out.selection_bias, "selection_bias");
  if (config.ffn.shared_size == 0)
    return;
  from.load(out.shared.emplace(), {"shared_gate", "shared_up", "shared_down"});
  if (config.ffn.shared_gate)
    from.load(out.shared_gate, "shared_weight");
}

void load_layer(weight_loader& from, const layer_recipe& layer,
                layer_weights& out) {
  const bool sandwich = from.config().sandwich_norms;
  from.load_norm(out.mixer_norm, "mixer_norm");
  load_mixer(from, layer, out);
  if (sandwich)
    from.load_norm(out.after_mixer, "after_mixer_norm");
  from.load_norm(out.ffn_norm, "ffn_norm");
  load_ffn(from, layer, out);
  if (sandwich)
    from.load_norm(out.after_ffn, "after_ffn_norm");
}

void load_outer(weight_loader& from, backbone_weights& out) {
  from.load(out.embedding, "embedding");
  from.load_norm(out.final_norm, "final_norm");
  from.load(out.head, "lm_head");
  if (from.config().head_bias)
    from.load(out.head_bias, "lm_head_bias");
}

using tapes = std::vector<weight_tape>;

/// Loads everything through one tape for each layer, and a last one.
result<std::shared_ptr<backbone_weights>>
load_through(tapes& all, const packed_images& images, kernels::lanes& pool) {
  const auto& model = images.model();
  const size_t layers = model.config.num_layers;
  TROUPE_ASSERT(all.size() == layers + 1);
  auto out = std::make_shared<backbone_weights>();
  out->config = model.config;
  out->options = images.options();
  out->layers.resize(layers);
  std::vector<std::optional<error>> failures(layers + 1);
  pool.parallel_for(layers + 1, [&](size_t i, size_t) {
    const auto layer = static_cast<uint32_t>(i);
    weight_loader from{model, images.options(), all[i],
                       i < layers ? std::optional{layer_index{layer}}
                                  : std::nullopt};
    if (i < layers)
      load_layer(from, model.config.layers[i], out->layers[i]);
    else
      load_outer(from, *out);
    failures[i] = from.failure;
  });
  for (const auto& x : failures)
    if (x)
      return tl::unexpected{*x};
  return out;
}

/// Nothing when the cache does not have it, or has something else.
std::shared_ptr<backbone_weights> load_cached(packed_images& images,
                                              kernels::lanes& pool) {
  auto image = images.backbone(pool);
  if (!image)
    return nullptr;
  auto parts = parts_of(image->bytes);
  if (!parts || parts->size() != images.model().config.num_layers + 1)
    return nullptr;
  auto out = load_through(*parts, images, pool);
  if (!out)
    return nullptr;
  (*out)->memory = std::move(image->owner);
  return std::move(*out);
}

} // namespace

uint64_t backbone_weights::size_bytes() const {
  uint64_t out = head.size_bytes() + embedding.rows * embedding.cols *
                                       kernels::size_of(embedding.type);
  for (const auto& x : layers)
    out += x.size_bytes();
  return out;
}

std::vector<layer_index> moe_layers_of(const model_config& config) {
  std::vector<layer_index> out;
  for (uint32_t i = 0; i < config.num_layers; ++i)
    if (config.layers[i].ffn == ffn_kind::moe)
      out.emplace_back(i);
  return out;
}

result<std::shared_ptr<const backbone_weights>>
load_backbone(packed_images& images, kernels::lanes& pool) {
  if (auto cached = load_cached(images, pool))
    return cached;
  auto recorded = std::make_shared<tapes>(images.model().config.num_layers + 1);
  auto out = load_through(*recorded, images, pool);
  if (!out)
    return tl::unexpected{out.error()};
  if (images.store_backbone(image_of(*recorded), pool))
    if (auto cached = load_cached(images, pool))
      return cached;
  (*out)->memory = std::move(recorded);
  return std::move(*out);
}

} // namespace troupe
