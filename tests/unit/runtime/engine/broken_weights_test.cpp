// Weights that lie in a folder but are not those of the model.
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/sequence_pass.hpp"
#include "runtime/model/safetensors_writer.hpp"
#include "tests/unit/runtime/engine/golden_model.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

using namespace troupe;
using test::scratch_folder;

namespace {

constexpr auto mode = kernels::numeric_mode::f32;

const std::vector<token_id> prompt{1, 7, 300, 42};

std::vector<float> logits_of(const std::string& folder) {
  kernels::lanes pool{{.count = 1}};
  auto out =
    evaluate_sequence(prompt, golden::load(folder.c_str(), mode), pool, {});
  BOOST_TEST_REQUIRE(out.has_value());
  return out->logits;
}

} // namespace

BOOST_AUTO_TEST_SUITE(broken_weights)

BOOST_AUTO_TEST_CASE(a_weight_that_is_no_number_is_refused_by_name) {
  const std::pair<std::string_view, const char*> rows[]{
    {std::string_view{"\xc0\x7f", 2}, "nan"},
    {std::string_view{"\x80\x7f", 2}, "inf"},
    {std::string_view{"\x80\xff", 2}, "-inf"}};
  const std::string name = "model.layers.1.input_layernorm.weight";
  for (auto& [bits, shown] : rows) {
    scratch_folder folder;
    folder.copy_from(golden::model_folder);
    auto path = folder.path("model.safetensors");
    auto whole = open_model(folder.path());
    BOOST_TEST_REQUIRE(whole.has_value());
    auto bytes = test::read_all(path);
    bytes.replace((*whole)->files.find(name)->offset + 2 * 5, 2, bits);
    folder.write("model.safetensors", bytes);
    auto model = open_model(folder.path());
    BOOST_TEST_REQUIRE(model.has_value());
    kernels::lanes pool{{.count = 1}};
    auto images = packed_images::open(*model, {kernels::best_isa(), mode});
    auto x = load_backbone(*images, pool);
    BOOST_TEST_REQUIRE(!x.has_value());
    BOOST_TEST((x.error().code == ec::bad_format));
    for (auto& part : {path, name, fmt::format("element 5 is {};", shown)})
      BOOST_TEST(x.error().message.find(part) != std::string::npos,
                 part << " is not in " << x.error().message);
  }
}

BOOST_AUTO_TEST_CASE(stale_copies_beside_the_index_change_no_bit) {
  scratch_folder folder;
  folder.copy_from(golden::model_folder);
  auto single = open_model(golden::model_folder);
  BOOST_TEST_REQUIRE(single.has_value());
  auto& files = (*single)->files;
  std::filesystem::rename(folder.path("model.safetensors"),
                          folder.path("model-00001-of-00002.safetensors"));
  // The second shard has one right tensor, and zeros under another's name; so
  // has a stray file that would be the whole model without an index.
  const std::string moved = "model.norm.weight";
  const std::string stale = "model.layers.0.self_attn.q_proj.weight";
  auto norm = files.load(moved);
  auto zeros = files.load(stale);
  BOOST_TEST_REQUIRE((norm.has_value() && zeros.has_value()));
  std::fill_n(zeros->data.get(), zeros->bytes, std::byte{0});
  const tensor_source tensors[]{
    {moved, norm->dtype, norm->shape, norm->view()},
    {stale, zeros->dtype, zeros->shape, zeros->view()}};
  for (auto name : {"model-00002-of-00002.safetensors", "model.safetensors"})
    BOOST_TEST_REQUIRE(
      write_safetensors(folder.path(name), tensors).has_value());
  std::string map;
  for (auto& name : files.names())
    map += fmt::format("{}\"{}\":\"model-0000{}-of-00002.safetensors\"",
                       map.empty() ? "" : ",", name, name == moved ? 2 : 1);
  folder.write("model.safetensors.index.json",
               fmt::format("{{\"weight_map\":{{{}}}}}", map));
  auto sharded = open_model(folder.path());
  BOOST_TEST_REQUIRE(sharded.has_value());
  BOOST_TEST((*sharded)->warnings.size() == 3u);
  auto expected = logits_of(golden::model_folder);
  BOOST_TEST(golden::same_bits(logits_of(folder.path()), expected));
}

BOOST_AUTO_TEST_SUITE_END()
