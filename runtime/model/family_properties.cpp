#include "runtime/model/family_properties.hpp"

#include "runtime/model/property_names.hpp"

namespace troupe {

namespace {

void read_norm(toml_section table, model_config& x) {
  table.read("kind", x.norm.kind, norm_kind_names);
  table.read("unit_offset", x.norm.unit_offset);
  table.read("sandwich", x.sandwich_norms);
}

void read_attention(toml_section table, model_family& x) {
  auto& attention = x.properties.attention;
  table.read("kind", x.mixer, mixer_kind_names, presence::required);
  table.read("rope", attention.rope.pairs, rope_pairs_names,
             presence::required);
  auto& norm = attention.qk_norm;
  table.read("qk_norm", norm.kind, qk_norm_kind_names);
  table.read("qk_norm_place", norm.place, qk_norm_place_names);
  table.read("qk_norm_weighted", norm.weighted);
  table.read("qk_norm_rope_layers_only", norm.rope_layers_only);
  table.read("sinks", attention.sinks);
  table.read("output_gate", attention.gate, output_gate_names);
  table.read("softmax_factor", x.softmax_factor);
}

void read_router(toml_section table, model_config& x) {
  auto& router = x.router;
  table.read("score", router.score, router_score_names, presence::required);
  table.read("epsilon", router.epsilon, within(0.0, 1.0));
  table.read("epsilon_use", router.epsilon_use, router_epsilon_names);
  table.read("group_score", router.groups.score, group_score_names);
  table.read("logit_bias", router.logit_bias);
  table.read("scales_input", router.scales_input);
}

void read_experts(toml_section table, model_config& x) {
  auto& experts = x.ffn.experts;
  table.read("layout", experts.layout, expert_layout_names);
  table.read("transposed", experts.transposed);
  table.read("interleaved", experts.interleaved);
  table.read("bias", experts.bias);
}

} // namespace

void read_family_properties(toml_section root, model_family& x) {
  auto& recipe = x.properties;
  read_norm(root.section("norm"), recipe);
  read_attention(root.section("attention", presence::required), x);
  read_router(root.section("router", presence::required), recipe);
  auto ffn = root.section("ffn");
  ffn.read("shared_gate", recipe.ffn.shared_gate);
  read_experts(root.section("experts"), recipe);
  auto layers = root.section("layers");
  layers.read("between", x.layers.between, layer_type_names);
  layers.read("rope", x.layers.rope, rope_rule_names);
}

} // namespace troupe
