// config.json through a family: the recipe it gives, and what is refused.
#include "runtime/model/model_config.hpp"

#include "runtime/model/canonical_recipe.hpp"
#include "runtime/model/model_family.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace troupe;
using namespace troupe::test;

namespace {

const char* golden = "tests/golden/models/qwen3_moe";

std::string golden_text() {
  return read_all(std::string{golden} + "/config.json");
}

result<model_config> parse(const std::string& text) {
  return parse_model_config(text, "config.json", family_catalog::built_in());
}

/// A change of the golden config.json, and what comes of it.
struct bad_setting {
  const char* from;
  const char* to;
  ec code;
  const char* what; ///< Part of the message.
};

constexpr bad_setting bad_settings[]{
  {"\"hidden_size\": 64", "\"hidden_size\": 0", ec::invalid_argument,
   "hidden_size: expected a whole number from 1 to"},
  {"\"hidden_size\": 64", "\"hidden_size\": -64", ec::invalid_argument,
   "found -64"},
  {"\"hidden_size\": 64", "\"hidden_size\": 64.0", ec::invalid_argument,
   "found 64.0"},
  {"\"hidden_size\": 64", "\"hidden_size\": \"64\"", ec::invalid_argument,
   "found \"64\""},
  {"\"hidden_size\": 64", "\"hidden_size\": 18446744073709551615",
   ec::invalid_argument, "hidden_size"},
  {"\"hidden_size\": 64,", "", ec::bad_format, "hidden_size: missing"},
  {"\"hidden_size\": 64", "\"hidden_size\": null", ec::bad_format,
   "hidden_size: missing"},
  {"\"vocab_size\": 512", "\"vocab_size\": 99999999999", ec::invalid_argument,
   "vocab_size"},
  {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 1000000",
   ec::invalid_argument, "num_hidden_layers"},
  {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 1", ec::invalid_argument,
   "mlp_only_layers: expected layers below 1, found 1"},
  {"\"num_attention_heads\": 4", "\"num_attention_heads\": 3",
   ec::invalid_argument, "num_attention_heads: expected a multiple of the 2"},
  {"\"num_experts_per_tok\": 4", "\"num_experts_per_tok\": 17",
   ec::invalid_argument, "num_experts_per_tok: expected at most the 16"},
  {"\"num_experts_per_tok\": 4", "\"num_experts_per_tok\": 0",
   ec::invalid_argument, "num_experts_per_tok"},
  {"\"num_local_experts\": 16,", "", ec::bad_format,
   "num_experts or num_local_experts: missing"},
  {"\"num_local_experts\": 16", "\"num_local_experts\": 16, \"num_experts\": 8",
   ec::invalid_argument, "num_local_experts, which means the same, is 16"},
  {"\"moe_intermediate_size\": 40,", "", ec::bad_format,
   "moe_intermediate_size: missing"},
  {"\"intermediate_size\": 96,", "", ec::bad_format,
   "intermediate_size: missing; the model has dense layers"},
  {"\"head_dim\": 32", "\"head_dim\": 31", ec::invalid_argument,
   "head_dim: expected an even number"},
  {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": -1", ec::invalid_argument,
   "rms_norm_eps"},
  {"\"rms_norm_eps\": 1e-06", "\"rms_norm_eps\": 1e999", ec::bad_format,
   "not valid JSON"},
  {"\"rope_theta\": 1000000.0", "\"rope_theta\": 0", ec::invalid_argument,
   "rope_theta"},
  {"\"rope_scaling\": null",
   "\"rope_scaling\": {\"rope_type\": \"mrope\", \"factor\": 4.0}",
   ec::unsupported, "rope_scaling: type: expected default, linear"},
  {"\"rope_scaling\": null", "\"rope_scaling\": {\"factor\": 2.0}",
   ec::unsupported, "without a type"},
  {"\"rope_scaling\": null",
   "\"rope_scaling\": {\"type\": \"linear\", \"factor\": \"2\"}",
   ec::invalid_argument, "rope_scaling: factor: expected a number"},
  {"\"rope_scaling\": null", "\"rope_scaling\": 5", ec::bad_format,
   "rope_scaling: expected an object"},
  {"\"use_sliding_window\": false", "\"use_sliding_window\": true",
   ec::unsupported, "use_sliding_window: expected false, found true"},
  {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", ec::unsupported,
   "hidden_act: expected \"silu\" or \"gelu_pytorch_tanh\", found"},
  {"\"hidden_act\": \"silu\"", "\"hidden_act\": 5", ec::invalid_argument,
   "hidden_act"},
  {"\"decoder_sparse_step\": 1", "\"decoder_sparse_step\": 0",
   ec::invalid_argument, "decoder_sparse_step"},
  {"\"norm_topk_prob\": true", "\"norm_topk_prob\": 1", ec::invalid_argument,
   "norm_topk_prob: expected true or false"},
  {"\"use_cache\": true",
   "\"quantization_config\": {\"quant_method\": \"fp8\"}", ec::unsupported,
   "quantization_config"},
  {"\"use_cache\": true", "\"layer_types\": [\"sliding_attention\"]",
   ec::invalid_argument, "layer_types: expected one for each of the 3"},
  {"\"use_cache\": true", "\"head_dim\": 32", ec::bad_format,
   "\"head_dim\" stands twice"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(model_config_suite)

BOOST_AUTO_TEST_CASE(the_golden_model_has_the_right_recipe) {
  auto x = read_model_config(golden, family_catalog::built_in());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(x->hidden_size == 64u);
  BOOST_TEST(x->vocab_size == 512u);
  BOOST_TEST(x->max_positions == 512u);
  BOOST_TEST(x->norm.eps == 1e-6);
  BOOST_TEST(!x->tied_embeddings);
  BOOST_TEST(x->attention.heads == 4u);
  BOOST_TEST(x->attention.kv_heads == 2u);
  BOOST_TEST(x->attention.head_dim == 32u); // not hidden / heads
  BOOST_TEST((x->attention.qk_norm.kind == qk_norm_kind::per_head));
  BOOST_TEST(x->attention.scale == 1 / std::sqrt(32.0));
  BOOST_TEST(!x->attention.qkv_bias);
  BOOST_TEST(x->attention.rope.theta == 1e6);
  BOOST_TEST(x->attention.rope.rotary_dim == 32u);
  BOOST_TEST(x->router.num_experts == 16u); // spelled num_local_experts
  BOOST_TEST(x->router.top_k == 4u);
  BOOST_TEST((x->router.normalize == kernels::router_normalize::sum_to_one));
  BOOST_REQUIRE(x->layers.size() == 3u);
  BOOST_TEST((x->layers[0].ffn == ffn_kind::moe));
  BOOST_TEST((x->layers[1].ffn == ffn_kind::dense)); // mlp_only_layers
  BOOST_TEST(x->layers[1].ffn_size == 96u);
  BOOST_TEST(x->layers[2].ffn_size == 40u);
  BOOST_TEST(x->moe_layers() == 2u);
}

BOOST_AUTO_TEST_CASE(sparse_step_makes_every_nth_layer_sparse) {
  auto text = with(golden_text(), "\"decoder_sparse_step\": 1",
                   "\"decoder_sparse_step\": 3");
  auto x = parse(text);
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST((x->layers[0].ffn == ffn_kind::dense));
  BOOST_TEST((x->layers[2].ffn == ffn_kind::moe));
}

BOOST_AUTO_TEST_CASE(both_spellings_of_rope_mean_the_same) {
  auto old = parse(golden_text());
  auto text = with(golden_text(), "\"rope_theta\": 1000000.0,",
                   "\"rope_parameters\": {\"rope_theta\": 1000000.0, "
                   "\"rope_type\": \"default\"},");
  auto renewed = parse(text);
  BOOST_REQUIRE_MESSAGE(renewed.has_value(),
                        (renewed ? "" : renewed.error().message));
  BOOST_TEST(canonical_recipe(*old) == canonical_recipe(*renewed));
}

BOOST_AUTO_TEST_CASE(absent_settings_get_the_family_defaults) {
  auto text = with(golden_text(), "\"norm_topk_prob\": true,", "");
  text = with(text, "\"head_dim\": 32,", "");
  text = with(text, "\"num_key_value_heads\": 2,", "");
  text = with(text, "\"rope_theta\": 1000000.0,", "");
  auto x = parse(text);
  BOOST_REQUIRE(x.has_value());
  // The family's own default, not a guess: false changes every weight.
  BOOST_TEST((x->router.normalize == kernels::router_normalize::no));
  BOOST_TEST(x->attention.head_dim == 16u);
  BOOST_TEST(x->attention.kv_heads == 4u);
  BOOST_TEST(x->attention.rope.theta == 10000.0);
}

BOOST_AUTO_TEST_CASE(attention_biases_are_part_of_the_recipe) {
  auto x = parse(with(golden_text(), "\"attention_bias\": false",
                      "\"attention_bias\": true"));
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->attention.qkv_bias);
  BOOST_TEST(x->attention.output_bias);
}

BOOST_AUTO_TEST_CASE(every_bad_setting_is_refused_by_name) {
  for (auto& row : bad_settings) {
    auto x = parse(with(golden_text(), row.from, row.to));
    BOOST_TEST_CONTEXT(row.to) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST(to_string(x.error().code) == to_string(row.code));
      BOOST_TEST(x.error().message.find("config.json") == 0u);
      BOOST_TEST(x.error().message.find(row.what) != std::string::npos,
                 row.what << " is not in " << x.error().message);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_family_lists_the_known_ones) {
  auto x = parse(R"({"architectures":["SwitchTransformersForCausalLM"],
                     "model_type":"switch_transformers"})");
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::unsupported));
  BOOST_TEST(x.error().message.find("SwitchTransformersForCausalLM") !=
             std::string::npos);
  for (auto& name : family_catalog::built_in().names())
    BOOST_TEST(x.error().message.find(name) != std::string::npos);
  BOOST_TEST(!parse("{}").has_value());
  BOOST_TEST(!parse("[]").has_value());
  BOOST_TEST(!parse("").has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_config_is_not_found) {
  scratch_folder folder;
  auto x = read_model_config(folder.path(), family_catalog::built_in());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::not_found));
  BOOST_TEST(x.error().message.find(folder.path("config.json")) !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(damaged_settings_never_crash) {
  const auto good = golden_text();
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  auto families = family_catalog::built_in();
  for (int i = 0; i < 2000; ++i) {
    auto text = good;
    // Replace one number or letter, so that much of it stays valid JSON.
    for (auto flips = 1 + random() % 3; flips > 0; --flips)
      text[random() % text.size()] =
        "0123456789-.e\"{}[],:truefalsnl"[random() % 31];
    auto x = parse_model_config(text, "config.json", families);
    if (x) {
      BOOST_TEST(x->attention.heads % x->attention.kv_heads == 0u);
      BOOST_TEST(x->layers.size() == x->num_layers);
      BOOST_TEST(x->router.top_k <= x->router.num_experts);
    } else {
      BOOST_TEST(x.error().message.find("config.json") == 0u, "seed " << seed);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
