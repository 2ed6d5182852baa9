// Rules and spellings of config.json that fixtures do not show: which layers
// are what, RoPE, lists, and settings that are refused.
#include "runtime/model/canonical_recipe.hpp"
#include "runtime/model/model_family.hpp"
#include "tests/unit/runtime/model/fixture_models.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace troupe;
using namespace troupe::test;

namespace {

/// A change of a fixture's config.json.
struct change {
  const char* fixture;
  const char* from;
  const char* to;
};

result<model_config> parse(const change& x) {
  return parse_model_config(with(fixture_config(x.fixture), x.from, x.to),
                            "config.json", family_catalog::built_in());
}

model_config good(const change& x) {
  auto out = parse(x);
  BOOST_REQUIRE_MESSAGE(out.has_value(), (out ? "" : out.error().message));
  return *out;
}

std::string fault(const change& x) {
  auto out = parse(x);
  BOOST_REQUIRE_MESSAGE(!out.has_value(), x.to);
  return out.error().message;
}

/// "mmdd": m for a MoE layer, d for a dense one.
std::string ffns(const model_config& x) {
  std::string out;
  for (auto& layer : x.layers)
    out += layer.ffn == ffn_kind::moe ? 'm' : 'd';
  return out;
}

std::vector<uint32_t> windows(const model_config& x) {
  std::vector<uint32_t> out;
  for (auto& layer : x.layers)
    out.push_back(layer.window);
  return out;
}

std::string ropes(const model_config& x) {
  std::string out;
  for (auto& layer : x.layers)
    out += layer.rope ? 'r' : '-';
  return out;
}

using list = std::vector<uint32_t>;

const std::string three_sliding = "\"layer_types\": [\n"
                                  "    \"sliding_attention\",\n"
                                  "    \"sliding_attention\",\n"
                                  "    \"sliding_attention\"\n"
                                  "  ],";

} // namespace

BOOST_AUTO_TEST_SUITE(config_rules_suite)

BOOST_AUTO_TEST_CASE(sparse_layers_follow_each_familys_rule) {
  BOOST_TEST(ffns(good({"deepseek_v2", "\"first_k_dense_replace\": 1",
                        "\"first_k_dense_replace\": 0"})) == "mmm");
  BOOST_TEST(ffns(good({"deepseek_v2", "\"moe_layer_freq\": 1",
                        "\"moe_layer_freq\": 2"})) == "ddm");
  BOOST_TEST(ffns(good({"ernie4_5_moe", "\"moe_layer_end_index\": 2",
                        "\"moe_layer_end_index\": 1"})) == "dmd");
  BOOST_TEST(ffns(good({"ernie4_5_moe", "\"moe_layer_end_index\": 2",
                        "\"moe_layer_end_index\": -1"})) == "dmm");
  BOOST_TEST(ffns(good({"ernie4_5_moe", "\"moe_layer_interval\": 1",
                        "\"moe_layer_interval\": 2"})) == "dmd");
  BOOST_TEST(ffns(good({"llama4_text", "\"moe_layers\": [\n    1,\n    3\n  ],",
                        ""})) == "dmdm");
  BOOST_TEST(ffns(good({"llama4_text", "\"moe_layers\": [\n    1,\n    3\n  ],",
                        "\"moe_layers\": [0],"})) == "mddd");
  BOOST_TEST(ffns(good({"exaone_moe", "\"dense\",\n    \"sparse\"",
                        "\"sparse\",\n    \"dense\""})) == "mdm");
  BOOST_TEST(ffns(good({"lfm2_moe", "\"num_dense_layers\": 1",
                        "\"num_dense_layers\": 2"})) == "ddm");
  BOOST_TEST(ffns(good({"qwen3_next", "\"decoder_sparse_step\": 1",
                        "\"decoder_sparse_step\": 2"})) == "dmdm");
}

BOOST_AUTO_TEST_CASE(windows_follow_each_familys_rule) {
  BOOST_TEST(windows(good({"mixtral", "\"sliding_window\": null",
                           "\"sliding_window\": 8"})) == (list{8, 8, 8}));
  // Without a list: all but every second, or every fourth.
  BOOST_TEST(windows(good({"gpt_oss", "\"layer_types\"", "\"types\""})) ==
             (list{16, 0, 16}));
  // A list goes before the number.
  BOOST_TEST(
    windows(good({"afmoe", "every_n_layers\": 4", "every_n_layers\": 2"})) ==
    (list{1024, 1024, 1024}));
  auto unlisted = with(fixture_config("afmoe"), three_sliding, "");
  unlisted = with(unlisted, "every_n_layers\": 4", "every_n_layers\": 2");
  auto x =
    parse_model_config(unlisted, "config.json", family_catalog::built_in());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(windows(*x) == (list{1024, 0, 1024}));
  // Layers without a window do not turn by position.
  BOOST_TEST(ropes(*x) == "r-r");
}

BOOST_AUTO_TEST_CASE(windows_may_begin_at_a_layer) {
  auto text = with(fixture_config("dots1"), "\"layer_types\"", "\"types\"");
  text = with(text, "\"sliding_window\": null", "\"sliding_window\": 8");
  text = with(text, "\"max_window_layers\": 62", "\"max_window_layers\": 1");
  auto x = parse_model_config(text, "config.json", family_catalog::built_in());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(windows(*x) == (list{0, 8, 8}));
}

BOOST_AUTO_TEST_CASE(layers_without_position_are_listed_or_counted) {
  auto listed = good({"llama4_text", "\"no_rope_layers\": [\n    1,\n    1",
                      "\"no_rope_layers\": [\n    0,\n    1"});
  BOOST_TEST(ropes(listed) == "-rr-");
  BOOST_TEST(listed.layers[0].temperature);
  auto counted =
    good({"llama4_text", "\"no_rope_layers\": [\n    1,\n    1,\n    1,\n    0",
          "\"no_rope_layers\": [\n    "});
  BOOST_TEST(ropes(counted) == "rrr-");
  auto text = with(fixture_config("llama4_text"), "\"layer_types\"", "\"x\"");
  auto x = parse_model_config(text, "config.json", family_catalog::built_in());
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->layers[0].chunk == 16u);
  BOOST_TEST(x->layers[3].chunk == 0u);
  // Older files say 4 for "yes".
  auto four = good({"llama4_text", "\"attn_temperature_tuning\": true",
                    "\"attn_temperature_tuning\": 4"});
  BOOST_TEST(four.attention.temperature_scale == 0.1);
  auto no = good({"llama4_text", "\"attn_temperature_tuning\": true",
                  "\"attn_temperature_tuning\": false"});
  BOOST_TEST(!no.layers[3].temperature);
}

BOOST_AUTO_TEST_CASE(a_value_for_each_layer_must_be_the_same) {
  auto x = good({"hunyuan_v1_moe", "\"moe_topk\": 2", "\"moe_topk\": [2,2,2]"});
  BOOST_TEST(x.router.top_k == 2u);
  // Beside a spelling of the same that is one number.
  auto size = good({"hunyuan_v1_moe", "\"intermediate_size\": 48",
                    "\"intermediate_size\": 48, "
                    "\"moe_intermediate_size\": [48,48,48]"});
  BOOST_TEST(size.ffn.expert_size == 48u);
  BOOST_TEST(fault({"hunyuan_v1_moe", "\"intermediate_size\": 48",
                    "\"intermediate_size\": 48, "
                    "\"moe_intermediate_size\": [32,32,32]"})
               .find("which means the same, is 48") != std::string::npos);
  BOOST_TEST(
    fault({"hunyuan_v1_moe", "\"moe_topk\": 2", "\"moe_topk\": [2,2,1]"})
      .find("moe_topk: expected the same value for all layers") !=
    std::string::npos);
}

BOOST_AUTO_TEST_CASE(shared_experts_are_one_of_their_total_size) {
  auto x = good({"hunyuan_v1_moe", "\"num_shared_expert\": 1",
                 "\"num_shared_expert\": [2,2,2]"});
  BOOST_TEST(x.ffn.shared_size == 96u);
}

BOOST_AUTO_TEST_CASE(rope_may_be_spelled_in_two_ways) {
  auto old =
    good({"deepseek_v3", "\"use_cache\": true", "\"use_cache\": false"});
  auto text = fixture_config("deepseek_v3");
  text = with(text, "\"rope_theta\": 10000.0,", "");
  text = with(text, "\"rope_scaling\": {",
              "\"rope_parameters\": {\"rope_theta\": 10000.0,");
  auto renewed =
    parse_model_config(text, "config.json", family_catalog::built_in());
  BOOST_REQUIRE_MESSAGE(renewed.has_value(),
                        (renewed ? "" : renewed.error().message));
  BOOST_TEST(canonical_recipe(*renewed) == canonical_recipe(old));
}

BOOST_AUTO_TEST_CASE(yarn_enters_the_softmax_scale_of_latent_attention) {
  auto x = good({"deepseek_v3", "\"use_cache\": true", "\"use_cache\": false"});
  const double factor = 0.1 * std::log(4.0) + 1;
  BOOST_TEST(std::abs(x.attention.scale - factor * factor / std::sqrt(24.0)) <
             1e-12);
}

BOOST_AUTO_TEST_CASE(scaling_by_a_constant_is_another_theta) {
  auto x = good({"hunyuan_v1_moe", "\"rope_scaling\": null",
                 "\"rope_scaling\": {\"type\": \"dynamic\", \"alpha\": 1000.0, "
                 "\"factor\": 1.0}"});
  BOOST_TEST(
    (x.attention.rope.scaling.kind == kernels::rope_scaling_kind::none));
  const double theta = 10000.0 * std::pow(1000.0, 16.0 / 14.0);
  BOOST_TEST(std::abs(x.attention.rope.theta - theta) < 1e-6 * theta);
  BOOST_TEST(fault({"hunyuan_v1_moe", "\"rope_scaling\": null",
                    "\"rope_scaling\": {\"type\": \"dynamic\", "
                    "\"factor\": 2.0}"})
               .find("\"dynamic\" is built with a positive \"alpha\" only") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_scaling_may_have_no_frequencies_between) {
  auto x = good({"qwen3_moe_llama3_rope", "\"high_freq_factor\": 4.0",
                 "\"high_freq_factor\": 1.0"});
  for (auto f : kernels::rope_inverse_frequencies(
         1e6, 32, x.attention.rope.scaling, kernels::rope_set::short_range))
    BOOST_TEST((f > 0 && f <= 1));
}

BOOST_AUTO_TEST_CASE(sequences_end_where_angles_are_no_longer_exact) {
  auto x = good({"llama4_text", "\"max_position_embeddings\": 512",
                 "\"max_position_embeddings\": 10485760"});
  BOOST_TEST(x.max_positions == 1u << 21);
}

BOOST_AUTO_TEST_CASE(factors_of_the_width_are_resolved) {
  auto x = good({"afmoe", "\"mup_enabled\": false", "\"mup_enabled\": true"});
  BOOST_TEST(x.embedding_multiplier == 8.0); // sqrt(64)
}

BOOST_AUTO_TEST_CASE(a_family_gives_what_config_is_silent_about) {
  const change rows[]{
    {"deepseek_v3", "\"routed_scaling_factor\": 2.5,", ""},
    {"deepseek_v3", "\"norm_topk_prob\": true,", ""},
    {"deepseek_v3", "\"rope_interleave\": true,", ""},
    {"glm4_moe", "\"partial_rotary_factor\": 0.5,", ""},
    {"lfm2_moe", "\"norm_topk_prob\": true,", ""},
    {"minimax_m2", "\"use_routing_bias\": true,", ""},
    {"minimax_m2", "\"use_qk_norm\": true,", ""},
    {"llama4_text", "\"use_qk_norm\": true,", ""},
    {"qwen2_moe", "\"qkv_bias\": true,", ""},
    {"ernie4_5_moe", "\"tie_word_embeddings\": true,", ""},
    {"gpt_oss", "\"attention_bias\": true,", ""},
  };
  for (auto& row : rows) {
    auto silent = good(row);
    auto told = parse_model_config(fixture_config(row.fixture), "config.json",
                                   family_catalog::built_in());
    BOOST_TEST(canonical_recipe(silent) == canonical_recipe(*told), row.from);
  }
}

BOOST_AUTO_TEST_CASE(settings_that_are_not_built_are_refused_by_name) {
  struct row {
    change to;
    const char* what;
  };
  const row rows[]{
    {{"qwen2_moe", "\"use_sliding_window\": false",
      "\"use_sliding_window\": true"},
     "use_sliding_window: expected false, found true"},
    {{"deepseek_v2", "\"mlp_bias\": false", "\"mlp_bias\": true"}, "mlp_bias"},
    {{"deepseek_v2", "\"topk_method\": \"greedy\"",
      "\"topk_method\": \"noaux_tc\""},
     "topk_method: expected \"greedy\" or"},
    {{"deepseek_v2", "\"norm_topk_prob\": false", "\"norm_topk_prob\": true"},
     "norm_topk_prob"},
    {{"deepseek_v3", "\"use_cache\"", "\"scoring_func\": \"softmax\", \"x\""},
     "scoring_func: expected \"sigmoid\", found \"softmax\""},
    {{"ernie4_5_moe", "\"use_bias\": false", "\"use_bias\": true"}, "use_bias"},
    {{"hunyuan_v1_moe", "\"use_cache\"", "\"use_cla\": true, \"x\""},
     "use_cla"},
    {{"minimax_m2", "\"use_cache\"", "\"attn_type_list\": [0, 1], \"x\""},
     "attn_type_list"},
    {{"mixtral", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\""},
     "hidden_act"},
    {{"mixtral", "\"use_cache\"",
      "\"quantization_config\": {\"quant_method\": \"awq\"}, \"x\""},
     "found \"awq\""},
    {{"mixtral", "\"use_cache\"",
      "\"quantization_config\": {\"quant_method\": \"fp8\"}, \"x\""},
     "weight_block_size: expected [128, 128], found none"},
    {{"gpt_oss", "\"full_attention\"", "\"ring_attention\""},
     "layer_types: \"ring_attention\" is not built"},
    {{"gpt_oss", "\"full_attention\",", ""}, "layer_types: expected one for"},
    {{"exaone_moe", "\"sparse\",", "\"other\","}, "mlp_layer_types: expected"},
    {{"exaone_moe", "\"sliding_window\": 4096", "\"sliding_window\": null"},
     "sliding_window: missing"},
    {{"deepseek_v3", "\"n_group\": 4", "\"n_group\": 3"}, "group"},
    {{"deepseek_v3", "\"factor\": 4.0", "\"factor\": -4.0"}, "factor"},
    {{"deepseek_v3", "\"rope_type\": \"yarn\"", "\"rope_type\": \"linear\""},
     "type"},
    {{"phimoe_longrope", "2.0\n    ],", "2.0, 3.0\n    ],"}, "rope_scaling"},
    {{"llama4_text", "\"moe_layers\": [\n    1", "\"moe_layers\": [\n    9"},
     "moe_layers: expected layers below 4, found 9"},
    {{"qwen3_next", "\"linear_num_value_heads\": 4",
      "\"linear_num_value_heads\": 3"},
     "linear_num_value_heads: expected a multiple of the 2"},
    {{"lfm2_moe", "\"conv_L_cache\": 3", "\"conv_L_cache\": 99"},
     "conv_L_cache: expected a whole number from 1 to 16"},
    {{"granitemoe", "\"logits_scaling\": 6.0", "\"logits_scaling\": 0"},
     "logits_scaling"},
  };
  for (auto& row : rows) {
    auto message = fault(row.to);
    BOOST_TEST(message.find(row.what) != std::string::npos,
               row.what << " is not in " << message);
  }
}

BOOST_AUTO_TEST_SUITE_END()
