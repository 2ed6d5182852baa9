// The recipe each family's config.json gives, and the tensors it binds. What is
// expected is what the models' own code does, not what ours says.
#include "runtime/model/canonical_recipe.hpp"
#include "runtime/model/model_family.hpp"
#include "runtime/model/opened_model.hpp"
#include "tests/unit/runtime/model/fixture_models.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace troupe;
using namespace troupe::test;

namespace {

/// Lines the canonical recipe of a fixture has.
struct expected_recipe {
  const char* fixture;
  std::vector<const char*> lines;
};

const expected_recipe recipes[]{
  {"mixtral",
   {"tied_embeddings false", "attention.head_dim 16", "attention.qk_norm none",
    "attention.scale 0.25", "rope.theta 1000000", "rope.pairs half_split",
    "rope.scaling none", "router.score softmax", "router.normalize true",
    "router.scale 1", "ffn.expert_size 48", "ffn.shared_size 0",
    "layers 0-2 mixer=gqa ffn=moe ffn_size=48"}},
  {"mixtral_sharded", {"router.num_experts 8", "router.top_k 2"}},
  {"mixtral_linear_rope", {"rope.scaling linear", "rope.factor 4"}},
  {"qwen2_moe",
   {"attention.qkv_bias true", "attention.output_bias false",
    "router.normalize false", "router.num_experts 10", "ffn.shared_size 80",
    "ffn.shared_gate true", "layers 0-2 mixer=gqa ffn=moe ffn_size=32"}},
  {"qwen3_moe",
   {"attention.head_dim 32", "attention.qk_norm per_head",
    "attention.qk_norm.place before_rope", "router.normalize true",
    "layers 0,2 mixer=gqa ffn=moe ffn_size=40",
    "layers 1 mixer=gqa ffn=dense ffn_size=96"}},
  {"qwen3_moe_llama3_rope",
   {"rope.scaling llama3", "rope.factor 8", "rope.original_positions 32",
    "rope.freq_factors 1 4", "rope.theta 1000000"}},
  {"olmoe",
   {"attention.qk_norm whole", "attention.clip_qkv 0", "router.normalize false",
    "ffn.expert_size 32", "layers 0-2 mixer=gqa ffn=moe ffn_size=32"}},
  {"deepseek_v2",
   {"attention.scale 0.20412414523193154", "rope.pairs interleaved",
    "rope.rotary_dim 8", "rope.scaling yarn", "rope.mscale 0.707 0.707",
    "mla.q_lora_rank 0", "mla.kv_lora_rank 32", "mla.nope_dim 16",
    "mla.value_dim 16", "router.score softmax", "router.normalize false",
    "router.scale 1", "router.selection_bias false", "ffn.shared_size 48",
    "layers 0 mixer=mla ffn=dense ffn_size=96",
    "layers 1-2 mixer=mla ffn=moe ffn_size=24"}},
  {"deepseek_v3",
   {"rope.pairs interleaved", "mla.q_lora_rank 24", "router.score sigmoid",
    "router.normalize true", "router.epsilon 1e-20", "router.scale 2.5",
    "router.groups.count 4", "router.groups.kept 2",
    "router.groups.score sum_of_two", "router.selection_bias true",
    "ffn.shared_size 24", "layers 0 mixer=mla ffn=dense ffn_size=96",
    "layers 1-2 mixer=mla ffn=moe ffn_size=24"}},
  {"deepseek_v3_fp8", {"router.groups.count 2", "ffn.shared_size 160"}},
  {"gpt_oss",
   {"attention.qkv_bias true", "attention.output_bias true",
    "attention.sinks true", "rope.scaling yarn", "rope.factor 32",
    "rope.truncate false", "rope.original_positions 4096",
    "router.score softmax_selected", "router.normalize false",
    "router.logit_bias true", "ffn.activation clamped_swish",
    "ffn.activation.limit 7", "experts.layout fused", "experts.transposed true",
    "experts.interleaved true", "experts.bias true", "experts.format plain",
    "layers 0,2 mixer=gqa window=16 ffn=moe ffn_size=64",
    "layers 1 mixer=gqa ffn=moe ffn_size=64"}},
  {"gpt_oss_mxfp4",
   {"experts.format mxfp4", "experts.transposed false",
    "experts.interleaved true"}},
  {"granitemoe",
   {"tied_embeddings true", "attention.scale 0.0625", "embedding_multiplier 12",
    "residual_multiplier 0.22", "logits_divisor 6",
    "router.score softmax_selected", "experts.layout fused",
    "experts.transposed false", "layers 0-2 mixer=gqa ffn=moe ffn_size=40"}},
  {"phimoe",
   {"norm.kind layer", "head_bias true", "attention.qkv_bias true",
    "attention.output_bias true", "router.score sparsemixer",
    "router.jitter 0.01"}},
  {"phimoe_longrope",
   {"rope.scaling longrope", "rope.original_positions 512",
    "rope.max_positions 2048", "rope.short_mscale 1.1",
    "rope.short_factors 1 1.1 1.2 1.3 1.4 1.5 1.7 2"}},
  {"llama4_text",
   {"attention.qk_norm per_head", "attention.qk_norm.place after_rope",
    "attention.qk_norm.weighted false",
    "attention.qk_norm.rope_layers_only true",
    "attention.temperature_scale 0.1", "attention.temperature_floor 16",
    "rope.pairs interleaved", "router.score sigmoid_selected",
    "router.scales_input true", "ffn.shared_size 48", "experts.transposed true",
    "experts.interleaved false",
    "layers 0,2 mixer=gqa chunk=16 ffn=dense ffn_size=96",
    "layers 1 mixer=gqa chunk=16 ffn=moe ffn_size=48",
    "layers 3 mixer=gqa rope=none temperature=yes ffn=moe ffn_size=48"}},
  {"glm4_moe",
   {"attention.qkv_bias true", "attention.output_bias false",
    "attention.qk_norm per_head", "rope.rotary_dim 16", "rope.pairs half_split",
    "router.score sigmoid", "router.scale 1.5",
    "layers 0 mixer=gqa ffn=dense ffn_size=96"}},
  {"ernie4_5_moe",
   {"tied_embeddings true", "rope.pairs interleaved", "rope.theta 500000",
    "router.score softmax", "router.normalize true", "router.epsilon 1e-12",
    "router.epsilon_use floor", "router.selection_bias true",
    "ffn.shared_size 24", "layers 0 mixer=gqa ffn=dense ffn_size=96",
    "layers 1-2 mixer=gqa ffn=moe ffn_size=24"}},
  {"dots1",
   {"attention.qk_norm per_head", "router.score sigmoid", "router.scale 2.5",
    "ffn.shared_size 48", "layers 1-2 mixer=gqa ffn=moe ffn_size=24"}},
  {"hunyuan_v1_moe",
   {"attention.qk_norm.place after_rope", "router.score softmax",
    "router.normalize true", "router.epsilon_use floor", "ffn.shared_size 48",
    "layers 0-2 mixer=gqa ffn=moe ffn_size=48"}},
  {"minimax_m2",
   {"attention.qk_norm whole", "attention.head_dim 32", "rope.rotary_dim 16",
    "router.score sigmoid", "router.normalize true",
    "router.selection_bias true", "layers 0-2 mixer=gqa ffn=moe ffn_size=24"}},
  {"exaone_moe",
   {"attention.qk_norm per_head", "router.scale 2.5",
    "router.selection_bias true",
    "layers 0 mixer=gqa window=4096 ffn=dense ffn_size=96",
    "layers 1-2 mixer=gqa window=4096 ffn=moe ffn_size=24"}},
  {"afmoe",
   {"norm.sandwich true", "attention.output_gate separate",
    "embedding_multiplier 1", "router.score sigmoid", "router.epsilon 1e-20",
    "layers 0 mixer=gqa window=1024 ffn=dense ffn_size=96",
    "layers 1-2 mixer=gqa window=1024 ffn=moe ffn_size=24"}},
  {"lfm2_moe",
   {"tied_embeddings false", "norm.eps 1e-05", "short_conv.kernel 3",
    "short_conv.bias false", "router.epsilon 1e-06",
    "layers 0 mixer=short_conv ffn=dense ffn_size=96",
    "layers 1 mixer=gqa ffn=moe ffn_size=24",
    "layers 2 mixer=short_conv ffn=moe ffn_size=24"}},
  {"qwen3_next",
   {"norm.unit_offset true", "attention.output_gate in_query",
    "rope.rotary_dim 8", "gated_delta.kernel 4", "gated_delta.key_heads 2",
    "gated_delta.value_heads 4", "ffn.shared_gate true",
    "layers 0-2 mixer=gated_delta ffn=moe ffn_size=24",
    "layers 3 mixer=gqa ffn=moe ffn_size=24"}},
};

result<model_config> parse(const std::string& text) {
  return parse_model_config(text, "config.json", family_catalog::built_in());
}

std::string recipe_of(const std::string& fixture) {
  auto x = parse(fixture_config(fixture));
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  return canonical_recipe(*x);
}

} // namespace

BOOST_AUTO_TEST_SUITE(family_recipes_suite)

BOOST_AUTO_TEST_CASE(every_config_has_the_recipe_of_its_model) {
  std::set<std::string> families;
  for (auto& row : recipes) {
    auto config = parse(fixture_config(row.fixture));
    BOOST_REQUIRE_MESSAGE(config.has_value(),
                          (config ? "" : config.error().message));
    families.insert(config->family);
    auto recipe = "\n" + canonical_recipe(*config);
    for (auto* line : row.lines)
      BOOST_TEST(recipe.find(std::string{"\n"} + line + "\n") !=
                   std::string::npos,
                 row.fixture << ": no \"" << line << "\" in" << recipe);
  }
  BOOST_TEST(families.size() == family_catalog::built_in().names().size());
}

BOOST_AUTO_TEST_CASE(a_text_model_inside_another_one_has_the_same_recipe) {
  auto inner = recipe_of("llama4_text");
  BOOST_TEST(recipe_of("llama4_multimodal") == inner);
  auto outer = parse(fixture_config("llama4_multimodal"));
  BOOST_TEST(outer->tensor_prefix == "language_model.");
  BOOST_TEST(parse(fixture_config("llama4_text"))->tensor_prefix.empty());
}

BOOST_AUTO_TEST_CASE(every_checkpoint_binds_its_tensors) {
  for (auto& name : bound_fixtures()) {
    scratch_folder folder;
    write_model(folder, fixture_config(name), fixture_tensors(name));
    auto x = open_model(folder.path());
    BOOST_TEST(x.has_value(), name << ": " << (x ? "" : x.error().message));
  }
}

BOOST_AUTO_TEST_CASE(every_missing_or_changed_tensor_is_told) {
  for (auto& name : bound_fixtures()) {
    auto tensors = fixture_tensors(name);
    // The vision part of a model is not looked at.
    std::erase_if(tensors, [](auto& x) {
      return x.name.starts_with("vision") || x.name.starts_with("multi_modal");
    });
    scratch_folder folder;
    auto changed = tensors;
    changed[3].shape.back() += 1;
    auto lost = changed.back().name;
    changed.pop_back();
    auto more = changed.front();
    more.name += ".more";
    changed.push_back(more);
    write_model(folder, fixture_config(name), changed);
    auto x = open_model(folder.path());
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(!x.has_value());
      auto& message = x.error().message;
      BOOST_TEST(message.find(lost + ": missing") != std::string::npos,
                 message);
      BOOST_TEST(message.find(changed[3].name) != std::string::npos, message);
      BOOST_TEST(message.find(more.name) != std::string::npos, message);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_for_other_uses_may_lie_behind_the_last_one) {
  auto tensors = fixture_tensors("deepseek_v3");
  scratch_folder folder;
  auto extra = tensors.front();
  extra.name = "model.layers.3.eh_proj.weight";
  tensors.push_back(extra);
  write_model(folder, fixture_config("deepseek_v3"), tensors);
  auto x = open_model(folder.path());
  BOOST_TEST(x.has_value(), (x ? "" : x.error().message));
  // A layer of the recipe has no such tensor.
  tensors.back().name = "model.layers.2.eh_proj.weight";
  write_model(folder, fixture_config("deepseek_v3"), tensors);
  BOOST_TEST(!open_model(folder.path()).has_value());
}

BOOST_AUTO_TEST_CASE(a_quantised_matrix_needs_its_scales) {
  auto tensors = fixture_tensors("deepseek_v3_fp8");
  auto scale = std::find_if(tensors.begin(), tensors.end(), [](auto& x) {
    return x.name.ends_with("q_b_proj.weight_scale_inv");
  });
  BOOST_REQUIRE(scale != tensors.end());
  scratch_folder folder;
  auto shape = scale->shape;
  scale->shape = {1, 1};
  write_model(folder, fixture_config("deepseek_v3_fp8"), tensors);
  BOOST_TEST(!open_model(folder.path()).has_value());
  scale->shape = shape;
  write_model(folder, fixture_config("deepseek_v3_fp8"), tensors);
  BOOST_TEST(open_model(folder.path()).has_value());
  for (auto [type, fits] : {std::pair{"F8_E8M0", true}, {"U8", false}}) {
    scale->dtype = type;
    write_model(folder, fixture_config("deepseek_v3_fp8"), tensors);
    BOOST_TEST(open_model(folder.path()).has_value() == fits, type);
  }
  tensors.erase(scale);
  write_model(folder, fixture_config("deepseek_v3_fp8"), tensors);
  BOOST_TEST(!open_model(folder.path()).has_value());
  // Nor is FP8 taken from a model that says nothing of it.
  auto plain = with(fixture_config("deepseek_v3_fp8"), "quantization_config",
                    "former_quantization");
  write_model(folder, plain, fixture_tensors("deepseek_v3_fp8"));
  BOOST_TEST(!open_model(folder.path()).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
