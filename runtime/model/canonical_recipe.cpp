#include "runtime/model/canonical_recipe.hpp"

#include "runtime/model/property_names.hpp"

#include <fmt/format.h>
#include <iterator>

namespace troupe {

namespace {

bool same(const layer_recipe& x, const layer_recipe& y) {
  return x.attention == y.attention && x.ffn == y.ffn &&
         x.ffn_size == y.ffn_size;
}

std::string layers_text(const std::vector<layer_recipe>& layers) {
  std::string text;
  for (size_t first = 0; first < layers.size();) {
    auto last = first;
    while (last + 1 < layers.size() && same(layers[first], layers[last + 1]))
      ++last;
    auto& x = layers[first];
    text += fmt::format("layers {}-{} attention={} ffn={} ffn_size={}\n", first,
                        last, name_of(x.attention, attention_kind_names),
                        name_of(x.ffn, ffn_kind_names), x.ffn_size);
    first = last + 1;
  }
  return text;
}

} // namespace

std::string canonical_recipe(const model_config& x) {
  std::string text;
  auto line = [&](std::string_view name, const auto& value) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
  };
  line("hidden_size", x.hidden_size);
  line("num_layers", x.num_layers);
  line("vocab_size", x.vocab_size);
  line("max_positions", x.max_positions);
  line("norm_eps", x.norm_eps);
  line("tied_embeddings", x.tied_embeddings);
  line("attention.heads", x.attention.heads);
  line("attention.kv_heads", x.attention.kv_heads);
  line("attention.head_dim", x.attention.head_dim);
  line("attention.qk_norm", x.attention.qk_norm);
  line("attention.qkv_bias", x.attention.qkv_bias);
  line("attention.output_bias", x.attention.output_bias);
  line("rope.theta", x.attention.rope.theta);
  line("rope.pairs", name_of(x.attention.rope.pairs, rope_pairs_names));
  line("rope.rotary_dim", x.attention.rope.rotary_dim);
  line("router.num_experts", x.router.num_experts);
  line("router.top_k", x.router.top_k);
  line("router.score", name_of(x.router.score, router_score_names));
  line("router.normalize",
       x.router.normalize == kernels::router_normalize::sum_to_one);
  line("ffn.activation", kernels::to_string(x.ffn.activation.kind));
  line("ffn.dense_size", x.ffn.dense_size);
  line("ffn.expert_size", x.ffn.expert_size);
  return text + layers_text(x.layers);
}

} // namespace troupe
