// Loading of the backbone: one task per layer, and one for what is outside.
#include "runtime/engine/backbone_weights.hpp"

#include "runtime/engine/packing.hpp"

namespace troupe {

namespace {

/// Loads tensors by role and keeps the first error: loading reads as a list.
class loader {
public:
  loader(const opened_model& model, kernels::compute_options options)
    : model_(model), options_(options) {
    // nop
  }

  void load(kernels::packed_weight& out, std::string_view role,
            layer_index layer) {
    take(out, [&] {
      return load_packed(model_.files, model_.tensors.name(role, layer),
                         options_);
    });
  }

  void load(std::vector<float>& out, std::string_view role, layer_index layer) {
    take(out, [&] {
      return load_floats(model_.files, model_.tensors.name(role, layer));
    });
  }

  void load_outer(backbone_weights& out) {
    const auto& names = model_.tensors;
    take(out.embedding,
         [&] { return load_rows(model_.files, names.name("embedding")); });
    take(out.final_norm.weight,
         [&] { return load_floats(model_.files, names.name("final_norm")); });
    take(out.head, [&] {
      return load_packed(model_.files, names.name("lm_head"), options_);
    });
  }

  std::optional<error> failure;

private:
  template <class T, class F>
  void take(T& out, F read) {
    if (failure)
      return;
    auto x = read();
    if (x)
      out = std::move(*x);
    else
      failure = x.error();
  }

  const opened_model& model_;
  kernels::compute_options options_;
};

void load_attention(loader& from, const attention_config& config,
                    layer_index layer, gqa_weights& out) {
  from.load(out.q, "q_proj", layer);
  from.load(out.k, "k_proj", layer);
  from.load(out.v, "v_proj", layer);
  from.load(out.o, "o_proj", layer);
  if (config.qkv_bias) {
    from.load(out.q_bias, "q_bias", layer);
    from.load(out.k_bias, "k_bias", layer);
    from.load(out.v_bias, "v_bias", layer);
  }
  if (config.output_bias)
    from.load(out.o_bias, "o_bias", layer);
  if (config.qk_norm.kind != qk_norm_kind::none) {
    from.load(out.q_norm, "q_norm", layer);
    from.load(out.k_norm, "k_norm", layer);
  }
}

std::optional<error> load_layer(const opened_model& model,
                                kernels::compute_options options,
                                layer_index layer, layer_weights& out) {
  const auto& config = model.config;
  loader from{model, options};
  from.load(out.mixer_norm.weight, "attention_norm", layer);
  load_attention(from, config.attention, layer,
                 out.mixer.emplace<gqa_weights>());
  from.load(out.ffn_norm.weight, "ffn_norm", layer);
  if (config.layers[layer.value].ffn == ffn_kind::moe) {
    from.load(out.router, "router", layer);
    return from.failure;
  }
  auto& dense = out.dense.emplace();
  dense.activation = config.ffn.activation;
  from.load(dense.gate, "dense_gate", layer);
  from.load(dense.up, "dense_up", layer);
  from.load(dense.down, "dense_down", layer);
  return from.failure;
}

} // namespace

uint64_t backbone_weights::size_bytes() const {
  uint64_t out = embedding.memory.size_bytes() + head.size_bytes();
  for (const auto& x : layers) {
    const auto& mixer = std::get<gqa_weights>(x.mixer);
    for (const auto* w : {&mixer.q, &mixer.k, &mixer.v, &mixer.o, &x.router})
      out += w->size_bytes();
    if (x.dense)
      out += x.dense->size_bytes();
  }
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
load_backbone(const opened_model& model, kernels::compute_options options,
              kernels::lanes& pool) {
  auto out = std::make_shared<backbone_weights>();
  out->config = model.config;
  out->options = options;
  const size_t layers = model.config.num_layers;
  out->layers.resize(layers);
  std::vector<std::optional<error>> failures(layers + 1);
  pool.parallel_for(layers + 1, [&](size_t i, size_t) {
    if (i < layers) {
      failures[i] = load_layer(
        model, options, layer_index{static_cast<uint32_t>(i)}, out->layers[i]);
      return;
    }
    loader from{model, options};
    from.load_outer(*out);
    failures[i] = from.failure;
  });
  for (const auto& x : failures)
    if (x)
      return tl::unexpected{*x};
  return out;
}

} // namespace troupe
