// Family files: the embedded ones, overriding ones, and their faults.
#include "runtime/model/model_family.hpp"

#include "runtime/model/embedded_families.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::test;

namespace {

std::string qwen_text() {
  return read_all("config/models/qwen3_moe.toml");
}

} // namespace

BOOST_AUTO_TEST_SUITE(model_family_suite)

BOOST_AUTO_TEST_CASE(every_embedded_family_parses_and_is_found) {
  auto catalog = family_catalog::built_in();
  BOOST_TEST(catalog.names().size() == embedded_families().size());
  BOOST_REQUIRE(!embedded_families().empty());
  for (auto& file : embedded_families()) {
    auto x = parse_model_family(file.text, std::string{file.file});
    BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
    BOOST_TEST(file.text == read_all(std::string{file.file}));
    BOOST_REQUIRE(!x->architectures.empty());
    auto* found = catalog.find(x->architectures.front(), "");
    BOOST_REQUIRE(found != nullptr);
    BOOST_TEST(found->name == x->name);
    for (auto& type : x->model_types)
      BOOST_TEST(catalog.find("unknown", type)->name == x->name);
  }
  BOOST_TEST(catalog.find("unknown", "unknown") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_folder_replaces_and_adds_families) {
  scratch_folder folder;
  folder.write("mine.toml", with(with(qwen_text(), "\"qwen3_moe\"", "\"mine\""),
                                 "Qwen3MoeForCausalLM", "MineForCausalLM"));
  folder.write("qwen3_moe.toml",
               with(qwen_text(), "\"softmax\"", "\"sigmoid\""));
  folder.write("README.md", "not a family");
  auto x = family_catalog::with_folder(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_REQUIRE(x->find("mine") != nullptr);
  BOOST_TEST(x->find("MineForCausalLM", "")->name == "mine");
  BOOST_TEST((x->find("qwen3_moe")->properties.router.score ==
              kernels::router_score::sigmoid));
  BOOST_TEST(!family_catalog::with_folder(folder.path("none")).has_value());
  folder.write("broken.toml", "family = 3");
  auto broken = family_catalog::with_folder(folder.path());
  BOOST_REQUIRE(!broken.has_value());
  BOOST_TEST(broken.error().message.find("broken.toml:1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_fault_of_a_family_file_is_refused_by_name) {
  struct row {
    const char* from;
    const char* to;
    const char* what;
  };
  const row rows[]{
    {"family          = \"qwen3_moe\"", "", "family: missing"},
    {"architectures   =", "architecture =", "architectures: missing"},
    {"hidden_size           = \"hidden_size\"", "hidden_sizes = \"x\"",
     "keys.hidden_sizes: unknown key"},
    {"top_k           = 8", "top_k = [8]", "defaults.top_k"},
    {"kind    = \"gqa\"", "kind = \"full\"", "attention.kind: expected one of"},
    {"rope    = \"half_split\"", "rope = true", "attention.rope"},
    {"qk_norm = \"per_head\"", "qk_norm = true", "attention.qk_norm"},
    {"score = \"softmax\"", "score = \"argmax\"", "router.score"},
    {"[router]", "[layers]\nbetween = \"sliding\"\n[router]",
     "layers.between: expected one of"},
    {"[router]", "[experts]\ntransposed = 1\n[router]", "experts.transposed"},
    {"\"vocab_size\", \"hidden_size\"]", "\"vocab_size\"]",
     "tensors.embedding: expected 2 sizes, found 1"},
    {"\"vocab_size\", \"hidden_size\"]", "\"vocab\", \"hidden_size\"]",
     "tensors.embedding: unknown size \"vocab\""},
    {"\"vocab_size\", \"hidden_size\"]", "\"0*vocab_size\", \"hidden_size\"]",
     "tensors.embedding: unknown size \"0*vocab_size\""},
    {"\"vocab_size\", \"hidden_size\"]", "\"vocab_size/0\", \"hidden_size\"]",
     "tensors.embedding: unknown size \"vocab_size/0\""},
    {"layers.{layer}.input_layernorm", "layers.input_layernorm",
     "tensors.mixer_norm: expected a name with {layer}"},
    {"model.embed_tokens", "model.{layer}",
     "tensors.embedding: expected a name without {layer}"},
    {"experts.{expert}.gate_proj", "experts.gate_proj",
     "tensors.expert_gate: expected a name with {expert}"},
    {"lm_head     =", "head =", "tensors.head: unknown key"},
    {"[only]", "[olny]", "olny: unknown key"},
  };
  for (auto& row : rows) {
    auto x = parse_model_family(with(qwen_text(), row.from, row.to), "f.toml");
    BOOST_TEST_CONTEXT(row.to) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST(x.error().message.find("f.toml") == 0u);
      BOOST_TEST(x.error().message.find(row.what) != std::string::npos,
                 row.what << " is not in " << x.error().message);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
