// Broken checkpoint folders: config, weights, index, tokenizer.
#include "tests/cluster/broken_row.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

using namespace troupe;
using namespace troupe::testing;
using test::scratch_folder;

namespace {

const std::string ids = "generate --model {dir} --max-tokens 2 --ids 1,2,3";
const std::string inspect = "inspect {dir}";

const std::vector<broken_row> folders{
  {"no config", ids, 1, {"config.json"}, removes("config.json")},
  {"empty config", ids, 1, {"config.json"}, writes("config.json", "")},
  {"config cut short", ids, 1, {"config.json"}, cuts("config.json", 100)},
  {"config of an unknown family",
   ids,
   1,
   {"architectures", "Qwen9Moe", "qwen3_moe"},
   writes("config.json", R"({"architectures": ["Qwen9Moe"]})")},
  {"config with a text for a number",
   ids,
   2,
   {"config.json", "hidden_size"},
   replaces("config.json", "\"hidden_size\": 64", "\"hidden_size\": \"64\"")},
  {"config with a negative number",
   ids,
   2,
   {"num_hidden_layers"},
   replaces("config.json",
            "\"num_hidden_layers\": ", "\"num_hidden_layers\": -")},
  {"config with another shape",
   ids,
   1,
   {"shape", "hidden_size is 128 in config.json", "have 64"},
   replaces("config.json", "\"hidden_size\": 64", "\"hidden_size\": 128")},
  {"config that asks for 4 billion layers",
   ids,
   2,
   {"num_hidden_layers"},
   replaces("config.json",
            "\"num_hidden_layers\": ", "\"num_hidden_layers\": 400000000")},
  {"broken generation config",
   ids,
   2,
   {"generation_config.json"},
   writes("generation_config.json", "{\"eos_token_id\": \"x\"}")},
  {"no weights", ids, 1, {"model.safetensors"}, removes("model.safetensors")},
  {"empty weights",
   inspect,
   1,
   {"model.safetensors"},
   writes("model.safetensors", "")},
  {"weights cut in the header",
   inspect,
   1,
   {"model.safetensors"},
   cuts("model.safetensors", 500)},
  {"weights cut in the data",
   ids,
   1,
   {"model.safetensors"},
   cuts("model.safetensors", 200'000)},
  {"weights that are a pointer to them",
   inspect,
   1,
   {"model.safetensors", "LFS"},
   writes("model.safetensors",
          "version https://git-lfs.github.com/spec/v1\noid sha256:"
          "9f2c0d1b\nsize 988097824\n")},
  {"weights that are a web page",
   inspect,
   1,
   {"model.safetensors"},
   writes("model.safetensors",
          "<!DOCTYPE html><html><body>Log in first</body></html>")},
  {"weights with a header of 2^63 bytes",
   inspect,
   1,
   {"model.safetensors"},
   writes("model.safetensors", std::string("\0\0\0\0\0\0\0\x80{}", 10))},
  {"weights without tensors",
   ids,
   1,
   {"model.embed_tokens.weight"},
   writes("model.safetensors", test::safetensors_bytes("{}", ""))},
  {"weights whose tensors overlap",
   inspect,
   1,
   {"model.safetensors"},
   writes("model.safetensors",
          test::safetensors_bytes(
            R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
            R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})",
            "123456"))},
  {"weights of an unknown type",
   inspect,
   1,
   {"Q9_K", "lm_head.weight"},
   replaces("model.safetensors", "\"BF16\",\"shape\":[512,64]",
            "\"Q9_K\",\"shape\":[512,64]")},
  {"weights of PyTorch",
   inspect,
   1,
   {"pytorch_model.bin", "safetensors"},
   [](const scratch_folder& x) {
     std::filesystem::remove(x.path("expected.safetensors"));
     std::filesystem::rename(x.path("model.safetensors"),
                             x.path("pytorch_model.bin"));
   }},
  {"everything is a web page",
   ids,
   1,
   {"4 problems", "config.json", "generation_config.json", "tokenizer.json",
    "model.safetensors"},
   [](const scratch_folder& x) {
     for (auto name : {"config.json", "generation_config.json",
                       "tokenizer.json", "model.safetensors"})
       x.write(name, "<!doctype html><title>Log in</title>");
   }},
  {"links into a cache that was cleaned",
   ids,
   1,
   {"model.safetensors", "symbolic link", "blobs/77"},
   [](const scratch_folder& x) {
     removes("model.safetensors")(x);
     std::filesystem::create_symlink("../../blobs/77",
                                     x.path("model.safetensors"));
   }},
  {"tokenizer that is a pointer to it",
   "generate --model {dir} --prompt x",
   1,
   {"tokenizer.json", "LFS", "4321 bytes"},
   writes("tokenizer.json",
          "version https://git-lfs.github.com/spec/v1\noid sha256:9f\nsize "
          "4321\n")},
  {"weights with one tensor renamed",
   ids,
   1,
   {"model.layers.2.mlp.experts.7.up_proj.weight"},
   replaces("model.safetensors", "model.layers.2.mlp.experts.7.up_proj.weight",
            "model.layers.2.mlp.experts.x.up_proj.weight")},
  {"index of a missing shard",
   inspect,
   1,
   {"model-00002-of-00002.safetensors"},
   [](const scratch_folder& x) {
     removes("model.safetensors")(x);
     x.write("model.safetensors.index.json",
             R"({"metadata":{},"weight_map":{"model.embed_tokens.weight":)"
             R"("model-00002-of-00002.safetensors"}})");
   }},
  {"index that leaves the folder",
   inspect,
   1,
   {"model.safetensors.index.json"},
   [](const scratch_folder& x) {
     removes("model.safetensors")(x);
     x.write("model.safetensors.index.json",
             R"({"weight_map":{"model.embed_tokens.weight":"../../x"}})");
   }},
  {"tokenizer that is not JSON",
   "generate --model {dir} --prompt x",
   1,
   {"tokenizer.json"},
   writes("tokenizer.json", "{\"model\": ")},
  {"tokenizer of an unknown kind",
   "tokenize --model {dir}",
   1,
   {"tokenizer.json"},
   writes("tokenizer.json", R"({"model": {"type": "Unigram"}})")},
  {"prompt without a tokenizer",
   "generate --model {dir} --prompt x",
   1,
   {"tokenizer.json", "--ids"}},
  {"node of a broken folder",
   "worker --model {dir} --head 127.0.0.1:1",
   1,
   {"model.safetensors"},
   cuts("model.safetensors", 500)},
};

} // namespace

BOOST_AUTO_TEST_SUITE(broken_folders)

BOOST_AUTO_TEST_CASE(every_broken_folder_is_an_error) {
  check_broken(folders);
}

BOOST_AUTO_TEST_SUITE_END()
