// What is predicted from the headers is what loading takes.
#include "golden_model.hpp"
#include "runtime/engine/memory_needs.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using kernels::numeric_mode;

BOOST_AUTO_TEST_SUITE(memory_needs_suite)

BOOST_AUTO_TEST_CASE(predicted_bytes_are_those_of_the_loaded_model) {
  for (auto folder : {golden::model_folder, golden::demo_folder})
    for (auto mode : {numeric_mode::bf16, numeric_mode::f32}) {
      auto model = open_model(folder);
      BOOST_TEST_REQUIRE(model.has_value());
      auto needs = memory_needs_of(**model, {kernels::best_isa(), mode});
      auto loaded = golden::load(folder, mode);
      BOOST_TEST(needs.backbone_bytes == loaded.backbone->size_bytes());
      BOOST_TEST(needs.experts_bytes() == loaded.experts->size_bytes());
    }
}

BOOST_AUTO_TEST_CASE(a_token_reads_all_but_the_embedding_and_idle_experts) {
  auto model = open_model(golden::demo_folder);
  BOOST_TEST_REQUIRE(model.has_value());
  const kernels::compute_options options{kernels::best_isa(),
                                         numeric_mode::bf16};
  auto needs = memory_needs_of(**model, options);
  // 4096 x 256 in bf16; 4 of 16 experts in each of 6 layers.
  BOOST_TEST(weight_bytes_per_token(**model, options) ==
             needs.backbone_bytes - 4096u * 256 * 2 + 24 * needs.expert_bytes);
}

BOOST_AUTO_TEST_CASE(recurrent_layers_need_memory_for_each_sequence) {
  const kernels::compute_options options{kernels::best_isa(),
                                         numeric_mode::bf16};
  auto attentive = open_model(golden::model_folder);
  BOOST_TEST_REQUIRE(attentive.has_value());
  BOOST_TEST(memory_needs_of(**attentive, options).state_bytes_per_sequence ==
             0u);
  auto convolving = open_model("tests/golden/models/lfm2_moe");
  BOOST_TEST_REQUIRE(convolving.has_value());
  // Two copies of two layers with two earlier inputs of 64 channels in f32.
  BOOST_TEST(memory_needs_of(**convolving, options).state_bytes_per_sequence ==
             2u * 2 * 2 * 64 * 4);
}

BOOST_AUTO_TEST_CASE(a_row_goes_to_each_node_once_and_comes_back_per_pair) {
  model_config config;
  config.hidden_size = 2048;
  config.router.top_k = 8;
  config.layers.resize(3);
  config.num_layers = 3;
  config.layers[0].ffn = ffn_kind::dense;
  auto two = wire_bytes_per_token(config, 2, numeric_mode::bf16);
  BOOST_TEST(two.out == 2u * 8192);
  BOOST_TEST(two.back == 2u * 32768);
  auto many = wire_bytes_per_token(config, 100, numeric_mode::f32);
  BOOST_TEST(many.out == 2u * 8 * 8192);
  BOOST_TEST(many.back == 2u * 65536);
  BOOST_TEST(wire_bytes_per_token(config, 0, numeric_mode::bf16).back == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
