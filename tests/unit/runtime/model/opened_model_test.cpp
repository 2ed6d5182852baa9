// A whole folder: tensors against the recipe, experts alone, digest and facts.
#include "runtime/model/opened_model.hpp"

#include "runtime/model/expert_source.hpp"
#include "runtime/model/model_digest.hpp"
#include "runtime/model/model_facts.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

using namespace troupe;
using namespace troupe::test;

namespace {

const std::string golden = "tests/golden/models/qwen3_moe";

void change_config(const scratch_folder& folder, std::string_view from,
                   std::string_view to) {
  auto text = read_all(folder.path("config.json"));
  folder.write("config.json", with(std::move(text), from, to));
}

bool mentions(const error& x, std::string_view part) {
  return x.message.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(opened_model_suite)

BOOST_AUTO_TEST_CASE(the_golden_model_opens) {
  auto x = open_model(golden);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  auto& model = **x;
  BOOST_TEST(model.tensors.name("embedding") == "model.embed_tokens.weight");
  BOOST_TEST(model.tensors.name("lm_head") == "lm_head.weight");
  BOOST_TEST(model.tensors.name("q_norm", layer_index{2}) ==
             "model.layers.2.self_attn.q_norm.weight");
  BOOST_TEST(model.tensors.name("expert_up", layer_index{0}, expert_id{15}) ==
             "model.layers.0.mlp.experts.15.up_proj.weight");
  BOOST_TEST(model.digest.size() == 64u);
  // Opening reads headers only.
  BOOST_TEST(model.files.bytes_read() == 0u);
}

BOOST_AUTO_TEST_CASE(one_expert_costs_its_own_bytes_only) {
  auto x = open_model(golden);
  BOOST_REQUIRE(x.has_value());
  auto expert = read_expert(**x, layer_index{2}, expert_id{7});
  BOOST_REQUIRE(expert.has_value());
  const uint64_t bytes = 3 * 40 * 64 * 2;
  BOOST_TEST((*x)->files.bytes_read() == bytes);
  BOOST_TEST(expert_storage_bytes(**x, layer_index{2}, expert_id{7}) == bytes);
  BOOST_TEST((expert->gate.values.shape == std::vector<uint64_t>{40, 64}));
  BOOST_TEST((expert->down.values.shape == std::vector<uint64_t>{64, 40}));
  // The same bytes as the file has for this tensor.
  auto whole = (*x)->files.load("model.layers.2.mlp.experts.7.up_proj.weight");
  BOOST_TEST(std::memcmp(whole->data.get(), expert->up.values.data.get(),
                         whole->bytes) == 0);
}

BOOST_AUTO_TEST_CASE(experts_that_do_not_exist_are_refused) {
  auto x = open_model(golden);
  BOOST_REQUIRE(x.has_value());
  auto dense = read_expert(**x, layer_index{1}, expert_id{0});
  BOOST_REQUIRE(!dense.has_value());
  BOOST_TEST(mentions(dense.error(), "layer 1 has no experts"));
  BOOST_TEST(!read_expert(**x, layer_index{3}, expert_id{0}).has_value());
  auto beyond = read_expert(**x, layer_index{0}, expert_id{16});
  BOOST_REQUIRE(!beyond.has_value());
  BOOST_TEST(mentions(beyond.error(), "below 16, found 16"));
}

BOOST_AUTO_TEST_CASE(a_file_cut_while_in_use_fails_the_expert_only) {
  scratch_folder folder;
  folder.copy_from(golden);
  auto x = open_model(folder.path());
  BOOST_REQUIRE(x.has_value());
  // Layer 2 lies behind layer 0 in the file.
  auto* info =
    (*x)->files.find("model.layers.2.mlp.experts.0.down_proj.weight");
  std::filesystem::resize_file(folder.path("model.safetensors"), info->offset);
  BOOST_TEST(read_expert(**x, layer_index{0}, expert_id{3}).has_value());
  auto lost = read_expert(**x, layer_index{2}, expert_id{3});
  BOOST_REQUIRE(!lost.has_value());
  BOOST_TEST(mentions(lost.error(), "cut short"));
  BOOST_TEST(mentions(lost.error(), "experts.3"));
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_fit_are_listed_together) {
  scratch_folder folder;
  folder.copy_from(golden);
  // Layer 1 becomes sparse: its experts are missing, its dense layer is left.
  change_config(folder, "\"mlp_only_layers\": [\n    1\n  ]",
                "\"mlp_only_layers\": []");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::shape_mismatch));
  BOOST_TEST(mentions(x.error(), "49 missing"));
  BOOST_TEST(mentions(x.error(), "model.layers.1.mlp.gate.weight"));
  BOOST_TEST(mentions(x.error(), "3 left over"));
  BOOST_TEST(mentions(x.error(), "model.layers.1.mlp.gate_proj.weight"));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_another_shape_names_both_shapes) {
  scratch_folder folder;
  folder.copy_from(golden);
  change_config(folder, "\"vocab_size\": 512", "\"vocab_size\": 500");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::shape_mismatch));
  BOOST_TEST(mentions(x.error(), folder.path("model.safetensors")));
  BOOST_TEST(mentions(x.error(), "model.embed_tokens.weight: expected shape "
                                 "[500, 64], found BF16[512, 64]"));
  BOOST_TEST(mentions(x.error(), "lm_head.weight"));
}

BOOST_AUTO_TEST_CASE(the_config_value_that_does_not_fit_is_named) {
  const std::tuple<const char*, const char*, const char*> rows[]{
    {"\"hidden_size\": 64", "\"hidden_size\": 128",
     "hidden_size is 128 in config.json"},
    {"\"num_local_experts\": 16", "\"num_local_experts\": 32",
     "num_local_experts is 32 in config.json, but 2 of 2 tensors with it have "
     "16"},
    {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 5",
     "num_hidden_layers is 5 in config.json, but the tensors end with layer 2"},
    {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2",
     "num_hidden_layers is 2 in config.json, but the tensors end with layer "
     "2"}};
  for (auto& [from, to, says] : rows) {
    scratch_folder folder;
    folder.copy_from(golden);
    change_config(folder, from, to);
    auto x = open_model(folder.path());
    BOOST_TEST_CONTEXT(to) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST(mentions(x.error(), says), x.error().message);
      BOOST_TEST(x.error().message.size() < 4000u);
    }
  }
}

BOOST_AUTO_TEST_CASE(biases_are_demanded_when_the_recipe_has_them) {
  scratch_folder folder;
  folder.copy_from(golden);
  change_config(folder, "\"attention_bias\": false",
                "\"attention_bias\": true");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "12 missing"));
  BOOST_TEST(mentions(
    x.error(), "model.layers.{0-2}.self_attn.o_proj.bias: missing, 3 tensors"));
}

BOOST_AUTO_TEST_CASE(a_tied_head_is_the_embedding_even_if_stored) {
  scratch_folder folder;
  folder.copy_from(golden);
  change_config(folder, "\"tie_word_embeddings\": false",
                "\"tie_word_embeddings\": true");
  auto x = open_model(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST((*x)->tensors.name("lm_head") == "model.embed_tokens.weight");
}

BOOST_AUTO_TEST_CASE(an_unsupported_element_type_is_named) {
  scratch_folder folder;
  folder.copy_from(golden);
  auto bytes = read_all(folder.path("model.safetensors"));
  // BF16 and I16 have the same size; a space keeps the header's length.
  folder.write("model.safetensors",
               with(std::move(bytes), "\"BF16\",\"shape\":[512,64]",
                    "\"I16\", \"shape\":[512,64]"));
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(
    mentions(x.error(), "expected BF16, F16 or F32, found I16[512, 64]"));
}

BOOST_AUTO_TEST_CASE(an_unknown_element_type_is_refused_where_it_is_used) {
  scratch_folder folder;
  folder.copy_from(golden);
  auto bytes = read_all(folder.path("model.safetensors"));
  folder.write("model.safetensors",
               with(std::move(bytes), "\"BF16\",\"shape\":[512,64]",
                    "\"Q9_K\",\"shape\":[512,64]"));
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "found Q9_K[512, 64]"), x.error().message);
}

BOOST_AUTO_TEST_CASE(all_faults_of_a_folder_are_told_at_once) {
  scratch_folder folder;
  folder.write("config.json", "<html>log in</html>");
  folder.write("generation_config.json", "");
  folder.write("tokenizer.json",
               "version https://git-lfs.github.com/spec/v1\nsize 99\n");
  folder.write("model.safetensors", "Entry not found");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), folder.path() + ": 4 problems:"));
  BOOST_TEST(mentions(x.error(), "config.json: expected JSON text: it is a web "
                                 "page"));
  BOOST_TEST(mentions(x.error(), "generation_config.json: the file is empty"));
  BOOST_TEST(mentions(x.error(), "tokenizer.json: expected JSON text: it is a "
                                 "Git LFS pointer to 99 bytes"));
  BOOST_TEST(mentions(x.error(), "model.safetensors: expected a safetensors "
                                 "file: it begins with the text"));
}

BOOST_AUTO_TEST_CASE(faults_of_values_and_of_files_are_told_together) {
  scratch_folder folder;
  folder.copy_from(golden);
  folder.write("generation_config.json", "{\"top_k\": -1}");
  change_config(folder, "\"vocab_size\": 512", "\"vocab_size\": 500");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "2 problems"));
  BOOST_TEST(mentions(x.error(), "generation_config.json"));
  BOOST_TEST(mentions(x.error(), "model.embed_tokens.weight"));
}

BOOST_AUTO_TEST_CASE(a_model_that_is_not_built_is_refused_by_its_config_alone) {
  scratch_folder folder;
  folder.write("config.json", R"({"architectures": ["Foo"]})");
  folder.write("model.safetensors", "");
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::unsupported));
  BOOST_TEST(!mentions(x.error(), "model.safetensors"));
}

BOOST_AUTO_TEST_CASE(optional_files_may_be_absent_but_not_links_to_nothing) {
  scratch_folder folder;
  folder.copy_from(golden);
  std::filesystem::remove(folder.path("generation_config.json"));
  BOOST_TEST(open_model(folder.path()).has_value());
  std::filesystem::create_symlink("../blobs/1",
                                  folder.path("generation_config.json"));
  auto x = open_model(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "symbolic link to ../blobs/1"));
}

BOOST_AUTO_TEST_CASE(warnings_of_the_files_come_with_the_model) {
  scratch_folder folder;
  folder.copy_from(golden);
  folder.write("model-00001-of-00002.safetensors", "");
  auto x = open_model(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_REQUIRE((*x)->warnings.size() == 1u);
  // The golden folder itself has nothing odd.
  BOOST_TEST(open_model("models/demo").value()->warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_digest_follows_recipe_and_headers) {
  scratch_folder folder;
  folder.copy_from(golden);
  auto original = open_model(golden);
  auto copy = open_model(folder.path());
  BOOST_REQUIRE((original.has_value() && copy.has_value()));
  BOOST_TEST((*original)->digest == (*copy)->digest);
  change_config(folder, "\"rope_theta\": 1000000.0", "\"rope_theta\": 10000.0");
  auto changed = open_model(folder.path());
  BOOST_REQUIRE(changed.has_value());
  BOOST_TEST((*original)->digest != (*changed)->digest);
  auto demo = open_model("models/demo");
  BOOST_REQUIRE_MESSAGE(demo.has_value(), (demo ? "" : demo.error().message));
  BOOST_TEST((*original)->digest != (*demo)->digest);
}

BOOST_AUTO_TEST_CASE(a_sharded_copy_is_the_same_model) {
  scratch_folder folder;
  folder.copy_from(golden);
  auto single = open_model(golden);
  BOOST_REQUIRE(single.has_value());
  std::filesystem::rename(folder.path("model.safetensors"),
                          folder.path("part-1.safetensors"));
  std::string map;
  for (auto& name : (*single)->files.names())
    map += fmt::format("{}\"{}\":\"part-1.safetensors\"",
                       map.empty() ? "" : ",", name);
  folder.write("model.safetensors.index.json",
               fmt::format("{{\"weight_map\":{{{}}}}}", map));
  auto sharded = open_model(folder.path());
  BOOST_REQUIRE_MESSAGE(sharded.has_value(),
                        (sharded ? "" : sharded.error().message));
  BOOST_TEST((*sharded)->digest == (*single)->digest);
}

BOOST_AUTO_TEST_CASE(facts_count_every_parameter_once) {
  auto demo = open_model("models/demo");
  BOOST_REQUIRE(demo.has_value());
  auto x = facts_of(**demo);
  BOOST_TEST(x.moe_layers == 6u);
  BOOST_TEST(x.experts_total == 96u);
  BOOST_TEST(x.expert_bytes == 3u * 128 * 256 * 2);
  BOOST_TEST(x.experts_bytes + x.backbone_bytes ==
             (*demo)->files.tensor_bytes());
  BOOST_TEST(x.parameters_total * 2 == (*demo)->files.tensor_bytes());
  BOOST_TEST(x.parameters_active ==
             x.parameters_total - uint64_t{6} * 12 * 3 * 128 * 256);
  BOOST_TEST(x.kv_bytes_bf16 == 2u * 6 * 4 * 32 * 2);
  BOOST_TEST(x.kv_bytes_f32 == 2 * x.kv_bytes_bf16);
  auto untied = open_model(golden);
  BOOST_REQUIRE(untied.has_value());
  auto y = facts_of(**untied);
  // Two MoE layers with 12 idle experts each, and the embedding is looked up.
  BOOST_TEST(y.parameters_active ==
             y.parameters_total - 2u * 12 * 3 * 40 * 64 - 512u * 64);
}

BOOST_AUTO_TEST_SUITE_END()
