// Attention and the other mixers of a recipe.
#include "runtime/model/config_sections.hpp"

#include <cmath>

namespace troupe {

namespace {

constexpr double factor_max = 1e6;

/// config.json has it as a boolean, or as a number that means yes.
bool truth_of(config_keys& keys, std::string_view key) {
  auto* node = keys.find(key);
  if (node && node->is_number_integer())
    return *node != 0;
  return keys.boolean(key, false);
}

void read_heads(config_keys& keys, model_config& x) {
  auto& a = x.attention;
  a.heads = keys.whole("heads", 1, heads_max);
  a.kv_heads = keys.optional_whole("kv_heads", 1, heads_max).value_or(a.heads);
  if (a.kv_heads != 0 && a.heads % a.kv_heads != 0)
    keys.refuse(ec::invalid_argument, "heads",
                fmt::format("expected a multiple of the {} key/value heads, "
                            "found {}",
                            a.kv_heads, a.heads));
}

void read_head_dim(config_keys& keys, model_config& x) {
  auto& a = x.attention;
  auto head_dim = keys.optional_whole("head_dim", 1, head_dim_max);
  if (!head_dim && a.heads != 0) {
    if (x.hidden_size % a.heads != 0)
      keys.refuse(ec::invalid_argument, "hidden_size",
                  fmt::format("expected a multiple of the {} heads (there is "
                              "no head_dim), found {}",
                              a.heads, x.hidden_size));
    head_dim = x.hidden_size / a.heads;
  }
  a.head_dim = head_dim.value_or(0);
}

void read_gqa(config_keys& keys, model_config& x) {
  auto& a = x.attention;
  read_head_dim(keys, x);
  if (!keys.boolean("qk_norm", a.qk_norm.kind != qk_norm_kind::none))
    a.qk_norm.kind = qk_norm_kind::none;
  a.clip_qkv = keys.optional_real("clip_qkv", 0.0, factor_max).value_or(0);
  if (!truth_of(keys, "temperature"))
    return;
  a.temperature_scale = keys.real("temperature_scale", 0.0, factor_max);
  a.temperature_floor =
    keys.real("temperature_floor", 1.0, static_cast<double>(positions_max));
}

void read_mla(config_keys& keys, model_config& x) {
  auto& mla = x.mla;
  mla.q_lora_rank = keys.optional_whole("q_lora_rank", 1, size_max).value_or(0);
  mla.kv_lora_rank = keys.whole("kv_lora_rank", 1, size_max);
  mla.nope_dim = keys.whole("nope_dim", 1, head_dim_max);
  mla.rope_dim = keys.whole("rope_dim", 1, head_dim_max);
  mla.value_dim = keys.whole("value_dim", 1, head_dim_max);
  // There are no key/value heads: all heads share the latent.
  x.attention.kv_heads = x.attention.heads;
  x.attention.head_dim = mla.query_dim();
}

void read_short_conv(config_keys& keys, model_config& x) {
  auto& conv = x.short_conv;
  conv.kernel = keys.optional_whole("conv_kernel", 1, taps_max).value_or(0);
  conv.bias = keys.boolean("conv_bias", false);
}

void read_gated_delta(config_keys& keys, model_config& x) {
  auto& delta = x.gated_delta;
  auto size = [&](std::string_view key, uint32_t max) {
    return keys.optional_whole(key, 1, max).value_or(0);
  };
  delta.kernel = size("delta_kernel", taps_max);
  delta.key_heads = size("delta_key_heads", heads_max);
  delta.value_heads = size("delta_value_heads", heads_max);
  delta.key_dim = size("delta_key_dim", head_dim_max);
  delta.value_dim = size("delta_value_dim", head_dim_max);
  if (delta.key_heads != 0 && delta.value_heads % delta.key_heads != 0)
    keys.refuse(ec::invalid_argument, "delta_value_heads",
                fmt::format("expected a multiple of the {} key heads, found {}",
                            delta.key_heads, delta.value_heads));
}

} // namespace

void read_mixers(config_keys& keys, const model_family& family,
                 model_config& x) {
  auto& a = x.attention;
  read_heads(keys, x);
  a.qkv_bias = keys.boolean("qkv_bias", false);
  a.output_bias = keys.boolean("output_bias", false);
  if (family.mixer == mixer_kind::mla)
    read_mla(keys, x);
  else
    read_gqa(keys, x);
  read_short_conv(keys, x);
  read_gated_delta(keys, x);
}

void read_attention_scale(config_keys& keys, const model_family& family,
                          model_config& x) {
  auto& a = x.attention;
  if (a.head_dim != 0)
    a.scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  if (auto scale = keys.optional_real("attention_scale", 0.0, factor_max))
    a.scale = *scale;
  if (family.softmax_factor)
    a.scale *= kernels::rope_softmax_factor(a.rope.scaling);
}

} // namespace troupe
