// What is said of models that nobody has described.
#include "runtime/model/unknown_family.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

std::string text_of(const char* config) {
  return describe_unknown_family(nlohmann::json::parse(config),
                                 family_catalog::built_in());
}

} // namespace

BOOST_AUTO_TEST_SUITE(unknown_family_suite)

BOOST_AUTO_TEST_CASE(
  the_nearest_family_and_its_first_unknown_setting_are_told) {
  auto text = text_of(R"({"architectures": ["FooMoe"], "model_type": "foo",
    "torch_dtype": "bfloat16", "hidden_size": 64, "num_hidden_layers": 2,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true,
    "moe_intermediate_size": 40, "zz_other": 1, "foo_gate": "cubic"})");
  BOOST_TEST(text.find("known: ") == 0u);
  BOOST_TEST(text.find("qwen3_moe") != std::string::npos);
  BOOST_TEST(text.find("; nearest by its settings: ") != std::string::npos);
  BOOST_TEST(text.ends_with("which does not know foo_gate"), text);
}

BOOST_AUTO_TEST_CASE(a_config_without_known_settings_is_near_to_nothing) {
  auto text = text_of(R"({"architectures": ["FooMoe"], "foo": 1})");
  BOOST_TEST(text.find("known: ") == 0u);
  BOOST_TEST(text.find("nearest") == std::string::npos);
  BOOST_TEST(text_of("{}").find("nearest") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
