// One function per struct of the recipe. A struct no layer uses is left out,
// and so is the recipe of what is switched off: the text says what is there.
#include "runtime/model/canonical_recipe.hpp"

#include "runtime/model/property_names.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>

namespace troupe {

namespace {

/// Collects "name value" lines.
class recipe_text {
public:
  template <class T>
  void line(std::string_view name, const T& value) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
  }

  std::string text;
};

bool uses(const model_config& x, mixer_kind kind) {
  return std::any_of(x.layers.begin(), x.layers.end(),
                     [&](auto& layer) { return layer.mixer == kind; });
}

void add_model(recipe_text& out, const model_config& x) {
  out.line("hidden_size", x.hidden_size);
  out.line("num_layers", x.num_layers);
  out.line("vocab_size", x.vocab_size);
  out.line("max_positions", x.max_positions);
  out.line("tied_embeddings", x.tied_embeddings);
  out.line("head_bias", x.head_bias);
  out.line("norm.kind", name_of(x.norm.kind, norm_kind_names));
  out.line("norm.eps", x.norm.eps);
  out.line("norm.unit_offset", x.norm.unit_offset);
  out.line("norm.sandwich", x.sandwich_norms);
  out.line("embedding_multiplier", x.embedding_multiplier);
  out.line("residual_multiplier", x.residual_multiplier);
  out.line("logits_divisor", x.logits_divisor);
}

/// What a kind of scaling does not use may hold anything: all of it is shown,
/// two recipes that differ there only are the same model by accident at most.
void add_rope_scaling(recipe_text& out, const kernels::rope_scaling& x) {
  out.line("rope.scaling", name_of(x.kind, rope_scaling_names));
  if (x.kind == kernels::rope_scaling_kind::none)
    return;
  out.line("rope.factor", x.factor);
  out.line("rope.original_positions", x.original_positions);
  out.line("rope.max_positions", x.max_positions);
  out.line("rope.freq_factors",
           fmt::format("{} {}", x.low_freq_factor, x.high_freq_factor));
  out.line("rope.beta", fmt::format("{} {}", x.beta_fast, x.beta_slow));
  out.line("rope.truncate", x.truncate);
  out.line("rope.mscale", fmt::format("{} {}", x.mscale, x.mscale_all_dim));
  if (x.attention_factor)
    out.line("rope.attention_factor", *x.attention_factor);
  if (x.kind != kernels::rope_scaling_kind::longrope)
    return;
  out.line("rope.short_factors",
           fmt::format("{}", fmt::join(x.short_factors, " ")));
  out.line("rope.long_factors",
           fmt::format("{}", fmt::join(x.long_factors, " ")));
  if (x.short_mscale)
    out.line("rope.short_mscale", *x.short_mscale);
  if (x.long_mscale)
    out.line("rope.long_mscale", *x.long_mscale);
}

void add_rope(recipe_text& out, const rope_config& x) {
  out.line("rope.theta", x.theta);
  out.line("rope.pairs", name_of(x.pairs, rope_pairs_names));
  out.line("rope.rotary_dim", x.rotary_dim);
  add_rope_scaling(out, x.scaling);
}

void add_qk_norm(recipe_text& out, const qk_norm_config& x) {
  out.line("attention.qk_norm", name_of(x.kind, qk_norm_kind_names));
  if (x.kind == qk_norm_kind::none)
    return;
  out.line("attention.qk_norm.place", name_of(x.place, qk_norm_place_names));
  out.line("attention.qk_norm.weighted", x.weighted);
  out.line("attention.qk_norm.rope_layers_only", x.rope_layers_only);
}

void add_attention(recipe_text& out, const attention_config& x) {
  out.line("attention.heads", x.heads);
  out.line("attention.kv_heads", x.kv_heads);
  out.line("attention.head_dim", x.head_dim);
  out.line("attention.scale", x.scale);
  add_qk_norm(out, x.qk_norm);
  out.line("attention.qkv_bias", x.qkv_bias);
  out.line("attention.output_bias", x.output_bias);
  out.line("attention.sinks", x.sinks);
  out.line("attention.output_gate", name_of(x.gate, output_gate_names));
  out.line("attention.clip_qkv", x.clip_qkv);
  if (x.temperature_scale != 0) {
    out.line("attention.temperature_scale", x.temperature_scale);
    out.line("attention.temperature_floor", x.temperature_floor);
  }
  add_rope(out, x.rope);
}

void add_mla(recipe_text& out, const mla_config& x) {
  out.line("mla.q_lora_rank", x.q_lora_rank);
  out.line("mla.kv_lora_rank", x.kv_lora_rank);
  out.line("mla.nope_dim", x.nope_dim);
  out.line("mla.rope_dim", x.rope_dim);
  out.line("mla.value_dim", x.value_dim);
  out.line("mla.norm_eps", x.norm_eps);
}

void add_short_conv(recipe_text& out, const short_conv_config& x) {
  out.line("short_conv.kernel", x.kernel);
  out.line("short_conv.bias", x.bias);
}

void add_gated_delta(recipe_text& out, const gated_delta_config& x) {
  out.line("gated_delta.kernel", x.kernel);
  out.line("gated_delta.key_heads", x.key_heads);
  out.line("gated_delta.value_heads", x.value_heads);
  out.line("gated_delta.key_dim", x.key_dim);
  out.line("gated_delta.value_dim", x.value_dim);
}

void add_router(recipe_text& out, const router_config& x) {
  const bool normalizes = x.normalize == kernels::router_normalize::sum_to_one;
  out.line("router.num_experts", x.num_experts);
  out.line("router.top_k", x.top_k);
  out.line("router.score", name_of(x.score, router_score_names));
  out.line("router.normalize", normalizes);
  if (normalizes && x.epsilon != 0) {
    out.line("router.epsilon", x.epsilon);
    out.line("router.epsilon_use",
             name_of(x.epsilon_use, router_epsilon_names));
  }
  out.line("router.scale", x.scale);
  if (x.groups.count > 1) {
    out.line("router.groups.count", x.groups.count);
    out.line("router.groups.kept", x.groups.kept);
    out.line("router.groups.score", name_of(x.groups.score, group_score_names));
  }
  if (x.score == kernels::router_score::sparsemixer)
    out.line("router.jitter", x.jitter);
  out.line("router.logit_bias", x.logit_bias);
  out.line("router.selection_bias", x.selection_bias);
  out.line("router.scales_input", x.scales_input);
}

void add_ffn(recipe_text& out, const ffn_config& x) {
  out.line("ffn.activation", kernels::to_string(x.activation.kind));
  if (x.activation.kind == kernels::activation_kind::clamped_swish) {
    out.line("ffn.activation.alpha", x.activation.alpha);
    out.line("ffn.activation.limit", x.activation.limit);
  }
  out.line("ffn.dense_size", x.dense_size);
  out.line("ffn.expert_size", x.expert_size);
  out.line("ffn.shared_size", x.shared_size);
  out.line("ffn.shared_gate", x.shared_gate);
  out.line("experts.layout", name_of(x.experts.layout, expert_layout_names));
  out.line("experts.transposed", x.experts.transposed);
  out.line("experts.interleaved", x.experts.interleaved);
  out.line("experts.bias", x.experts.bias);
  out.line("experts.format", name_of(x.experts.format, weight_format_names));
}

std::string layer_text(const layer_recipe& x) {
  auto text = fmt::format("mixer={}", name_of(x.mixer, mixer_kind_names));
  if (!x.rope)
    text += " rope=none";
  if (x.temperature)
    text += " temperature=yes";
  if (x.window != 0)
    text += fmt::format(" window={}", x.window);
  if (x.chunk != 0)
    text += fmt::format(" chunk={}", x.chunk);
  return text + fmt::format(" ffn={} ffn_size={}",
                            name_of(x.ffn, ffn_kind_names), x.ffn_size);
}

/// "0,2,4-7": ascending numbers, neighbours as a range.
std::string ranges_text(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t first = 0; first < numbers.size();) {
    auto last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (last > first)
      text += fmt::format("-{}", numbers[last]);
    first = last + 1;
  }
  return text;
}

/// A line for each kind of layer, in the order of their first ones.
void add_layers(recipe_text& out, const std::vector<layer_recipe>& layers) {
  std::vector<std::vector<size_t>> kinds;
  for (size_t i = 0; i < layers.size(); ++i) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](auto& x) {
      return layers[x.front()] == layers[i];
    });
    if (kind == kinds.end())
      kinds.push_back({i});
    else
      kind->push_back(i);
  }
  for (auto& kind : kinds)
    out.line("layers", fmt::format("{} {}", ranges_text(kind),
                                   layer_text(layers[kind.front()])));
}

} // namespace

std::string canonical_recipe(const model_config& x) {
  recipe_text out;
  add_model(out, x);
  if (uses(x, mixer_kind::gqa) || uses(x, mixer_kind::mla))
    add_attention(out, x.attention);
  if (uses(x, mixer_kind::mla))
    add_mla(out, x.mla);
  if (uses(x, mixer_kind::short_conv))
    add_short_conv(out, x.short_conv);
  if (uses(x, mixer_kind::gated_delta))
    add_gated_delta(out, x.gated_delta);
  add_router(out, x.router);
  add_ffn(out, x.ffn);
  add_layers(out, x.layers);
  return std::move(out.text);
}

} // namespace troupe
