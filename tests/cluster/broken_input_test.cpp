// One table of broken inputs to the program: command lines, checkpoint folders
// and configuration files. Each is an error that says what is wrong and where;
// none is a crash, and none leaves a process behind.
#include "tests/support/troupe_process.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;
using test::scratch_folder;

namespace {

using damage = std::function<void(const scratch_folder&)>;

struct broken_row {
  const char* what;
  /// Words of the command. {dir}: a folder of its own that holds the golden
  /// model until `how` has changed it.
  std::string command;
  int code; ///< 1: failed, 2: wrong usage.
  std::vector<std::string> says;
  damage how = {};
};

damage writes(std::string name, std::string bytes) {
  return [=](const scratch_folder& x) { x.write(name, bytes); };
}

damage removes(std::string name) {
  return
    [=](const scratch_folder& x) { std::filesystem::remove(x.path(name)); };
}

damage replaces(std::string name, std::string from, std::string to) {
  return [=](const scratch_folder& x) {
    x.write(name, test::with(test::read_all(x.path(name)), from, to));
  };
}

damage cuts(std::string name, size_t bytes) {
  return [=](const scratch_folder& x) {
    auto all = test::read_all(x.path(name));
    BOOST_REQUIRE(bytes < all.size());
    x.write(name, std::string_view{all}.substr(0, bytes));
  };
}

const std::string demo = "generate --model models/demo --max-tokens 2 ";
const std::string ids = "generate --model {dir} --max-tokens 2 --ids 1,2,3";
const std::string inspect = "inspect {dir}";
const std::string configured =
  "generate --model models/demo --max-tokens 2 --ids 1 --config {dir}/x.toml";

const std::vector<broken_row> command_lines{
  {"no command", "", 2, {"subcommand"}},
  {"unknown command", "dance", 2, {"subcommand"}},
  {"unknown option", demo + "--ids 1 --frobnicate", 2, {"--frobnicate"}},
  {"no model", "generate --ids 1", 2, {"--model"}},
  {"no prompt", "generate --model models/demo", 2, {"prompt"}},
  {"two prompts", demo + "--ids 1 --prompt x", 2, {"prompt"}},
  {"folder without a model",
   "generate --model docs --ids 1",
   1,
   {"docs", "config.json"}},
  {"conversation without a file",
   "chat-template --model models/demo",
   2,
   {"--messages"}},
  {"conversation file that does not exist",
   "chat-template --model models/demo --messages no/such.json",
   1,
   {"no/such.json"}},
  {"conversation without messages",
   "chat-template --model models/demo --messages {dir}/config.json",
   2,
   {"messages: expected a list"}},
  {"folder without a chat template",
   "chat-template --model docs --messages {dir}/config.json",
   1,
   {"docs: there is no chat template", "chat_template.jinja"}},
  {"folder that does not exist",
   "generate --model no/such/folder --ids 1",
   1,
   {"no/such/folder"}},
  {"empty prompt",
   demo + "--prompt-file {dir}/x",
   2,
   {"empty"},
   writes("x", "")},
  {"prompt file that is a folder", demo + "--prompt-file docs", 1, {"docs"}},
  {"prompt file that does not exist",
   demo + "--prompt-file no/such",
   1,
   {"no/such"}},
  {"ids that are no numbers", demo + "--ids 1,two", 2, {"--ids", "two"}},
  {"negative id", demo + "--ids 1,-2", 2, {"--ids", "-2"}},
  {"id beyond the vocabulary", demo + "--ids 4096", 2, {"4096", "4095"}},
  {"id beyond 32 bits", demo + "--ids 4294967297", 2, {"4294967297"}},
  {"no tokens asked for",
   "generate --model models/demo --ids 1 --max-tokens 0",
   2,
   {"max_tokens"}},
  {"negative temperature",
   demo + "--ids 1 --temperature -1",
   2,
   {"temperature"}},
  {"temperature that is no number",
   demo + "--ids 1 --temperature nan",
   2,
   {"temperature"}},
  {"top-p of 0", demo + "--ids 1 --top-p 0", 2, {"top_p"}},
  {"negative top-k", demo + "--ids 1 --top-k -1", 2, {"--top-k"}},
  {"empty stop text", demo + "--ids 1 --stop=", 2, {"stop"}},
  {"placement by an unknown policy",
   demo + "--ids 1 --placement best",
   2,
   {"placement", "best"}},
  {"placement by bad weights",
   demo + "--ids 1 --workers 2 --placement weighted:1,x",
   2,
   {"weight", "x"}},
  {"weights for other nodes",
   demo + "--ids 1 --workers 2 --placement weighted:1,2,3",
   2,
   {"3 weights for 2 nodes"}},
  {"weights of 0",
   demo + "--ids 1 --workers 2 --placement weighted:0,0",
   2,
   {"weights"}},
  {"fault of an unknown kind", demo + "--ids 1 --fault melt:w1", 2, {"melt"}},
  {"fault at an unknown point",
   demo + "--ids 1 --workers 1 --fault kill:w1@noon=1",
   2,
   {"kill:w1@noon=1"}},
  {"fault of an unknown node",
   demo + "--ids 1 --workers 1 --fault kill:w9@token=1",
   2,
   {"w9"}},
  {"route to an unknown expert",
   demo + "--ids 1 --fault route:99=+1",
   2,
   {"99"}},
  {"too many workers", demo + "--ids 1 --workers 1000", 2, {"--workers"}},
  {"no lanes", demo + "--ids 1 --lanes 0", 2, {"--lanes"}},
  {"unknown numbers", demo + "--ids 1 --dtype int3", 2, {"--dtype"}},
  {"unknown instructions", demo + "--ids 1 --isa neon", 2, {"--isa"}},
  {"unknown instructions of a node",
   demo + "--ids 1 --workers 1 --worker-isa neon",
   2,
   {"--worker-isa", "neon"}},
  {"listen beyond loopback",
   "serve --model models/demo --listen 0.0.0.0:0",
   2,
   {"0.0.0.0", "loopback"}},
  {"actors beyond loopback",
   demo + "--ids 1 --cluster-listen 10.0.0.1:7600",
   2,
   {"10.0.0.1", "loopback"}},
  {"listen without a port",
   "serve --model models/demo --listen 127.0.0.1",
   2,
   {"--listen"}},
  {"listen at a port beyond 65535",
   "serve --model models/demo --listen 127.0.0.1:65536",
   2,
   {"65536"}},
  {"head beyond loopback",
   "worker --model models/demo --head 10.0.0.1:7600",
   2,
   {"10.0.0.1"}},
  {"node without a model", "worker --head 127.0.0.1:7600", 2, {"--model"}},
  {"node of a bad name",
   "worker --model models/demo --name a/b",
   2,
   {"--name a/b"}},
  {"node named like the head",
   "worker --model models/demo --name head",
   2,
   {"--name head"}},
  {"status of nobody", "status --url http://127.0.0.1:1", 1, {"127.0.0.1:1"}},
  {"status of no URL", "status --url gopher://x", 2, {"gopher"}},
  {"perplexity of no file",
   "eval perplexity --model models/demo --file no/such",
   1,
   {"no/such"}},
  {"logits into no folder",
   "eval logits --model models/demo --ids 1 --output no/such/x",
   1,
   {"no/such/x"}},
};

const std::vector<broken_row> prompt_lists{
  {"list that is not JSON",
   demo + "--prompts {dir}/x",
   1,
   {"x:2", "not JSON"},
   writes("x", "{\"ids\": [1]}\nhello\n")},
  {"list of unknown keys",
   demo + "--prompts {dir}/x",
   1,
   {"x:1", "promt"},
   writes("x", "{\"promt\": \"a\"}\n")},
  {"list of wrong types",
   demo + "--prompts {dir}/x",
   1,
   {"x:1", "ids"},
   writes("x", "{\"ids\": [1, \"2\"]}\n")},
  {"list of an array",
   demo + "--prompts {dir}/x",
   1,
   {"x:1", "object"},
   writes("x", "[1]\n")},
  {"deep list",
   demo + "--prompts {dir}/x",
   1,
   {"x:1"},
   writes("x", std::string(100'000, '['))},
  {"empty list",
   demo + "--prompts {dir}/x",
   2,
   {"no prompts"},
   writes("x", "\n")},
  {"invalid text",
   demo + "--prompts {dir}/x",
   1,
   {"x:1"},
   writes("x", "{\"prompt\": \"\xff\xfe\"}\n")},
};

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

const std::vector<broken_row> configurations{
  {"no configuration", configured, 1, {"x.toml"}},
  {"configuration that is not TOML",
   configured,
   1,
   {"x.toml:2"},
   writes("x.toml", "[head]\nworkers =\n")},
  {"unknown table",
   configured,
   2,
   {"x.toml:1", "haed"},
   writes("x.toml", "[haed]\n")},
  {"unknown key",
   configured,
   2,
   {"x.toml:2", "worker"},
   writes("x.toml", "[head]\nworker = 1\n")},
  {"wrong type",
   configured,
   2,
   {"x.toml:2", "workers"},
   writes("x.toml", "[head]\nworkers = \"two\"\n")},
  {"out of range",
   configured,
   2,
   {"x.toml:2", "prefill_chunk"},
   writes("x.toml", "[head]\nprefill_chunk = 0\n")},
  {"time without a unit",
   configured,
   2,
   {"x.toml:2", "dead_after"},
   writes("x.toml", "[heartbeat]\ndead_after = 5\n")},
  {"two nodes of one name",
   configured,
   2,
   {"x.toml:", "w1"},
   writes("x.toml", "[[node]]\nname=\"w1\"\n[[node]]\nname=\"w1\"\n")},
  {"actors beyond loopback by file",
   configured,
   2,
   {"10.0.0.1", "loopback"},
   writes("x.toml", "[head]\ncluster_listen = \"10.0.0.1:7600\"\n")},
  {"what is not built yet",
   configured,
   1,
   {"partial"},
   writes("x.toml", "[dispatch]\ncombine = \"partial\"\n")},
  {"binary configuration",
   configured,
   1,
   {"x.toml"},
   writes("x.toml", std::string("\0\xff\x01[", 4))},
  {"node with a broken configuration",
   "worker --config {dir}/x.toml",
   2,
   {"x.toml:2", "reconnect_min"},
   writes("x.toml", "[worker]\nreconnect_min = \"-1s\"\n")},
};

std::vector<std::string> words_of(const std::string& command,
                                  const std::string& folder) {
  std::vector<std::string> words;
  std::istringstream in{command};
  for (std::string word; in >> word;) {
    if (auto at = word.find("{dir}"); at != std::string::npos)
      word.replace(at, 5, folder);
    words.push_back(word);
  }
  return words;
}

void check(const std::vector<broken_row>& table) {
  for (auto& row : table) {
    BOOST_TEST_CONTEXT(row.what) {
      scratch_folder folder;
      folder.copy_from("tests/golden/models/qwen3_moe");
      if (row.how)
        row.how(folder);
      auto run = run_troupe(words_of(row.command, folder.path()),
                            std::chrono::seconds(20));
      BOOST_TEST(run.exited_with(row.code), describe(run));
      for (auto& part : row.says)
        BOOST_TEST(run.err.find(part) != std::string::npos,
                   "not said: " << part << "\n"
                                << describe(run));
      BOOST_TEST(run.err.find("Sanitizer") == std::string::npos, run.err);
      BOOST_TEST(run.err.size() < 4000U);
      BOOST_TEST(run.out.empty());
      BOOST_TEST(run.left_behind.empty());
    }
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(broken_input)

BOOST_AUTO_TEST_CASE(every_broken_command_line_is_an_error) {
  check(command_lines);
}

BOOST_AUTO_TEST_CASE(every_broken_list_of_prompts_is_an_error) {
  check(prompt_lists);
}

BOOST_AUTO_TEST_CASE(every_broken_folder_is_an_error) {
  check(folders);
}

BOOST_AUTO_TEST_CASE(every_broken_configuration_is_an_error) {
  check(configurations);
}

BOOST_AUTO_TEST_SUITE_END()
