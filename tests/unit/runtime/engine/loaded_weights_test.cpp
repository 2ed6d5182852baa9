// Checkpoints of every storage, loaded: sizes as predicted, rows where the
// forward pass looks for them.
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/layer_experts.hpp"
#include "runtime/engine/memory_needs.hpp"
#include "tests/unit/runtime/model/fixture_models.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::test;
using kernels::numeric_mode;

namespace {

/// Every element of a bf16 tensor is the number of its row (of its index, in a
/// vector): small whole numbers, exact in bf16 up to 256.
std::byte row_number(const fixture_tensor& x, uint64_t i) {
  if (x.dtype != "BF16")
    return std::byte{0};
  uint64_t cols = 1;
  for (size_t d = 1; d < x.shape.size(); ++d)
    cols *= x.shape[d];
  const auto value = static_cast<float>(i / 2 / cols % 257);
  const auto bits = std::bit_cast<uint32_t>(value) >> 16U;
  return static_cast<std::byte>(i % 2 == 0 ? bits & 0xffU : bits >> 8U);
}

model_ptr make_model(const scratch_folder& folder, const std::string& fixture,
                     const fixture_bytes& bytes = {}) {
  write_model(folder, fixture_config(fixture), fixture_tensors(fixture), bytes);
  auto x = open_model(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  return *x;
}

std::shared_ptr<const backbone_weights> load(packed_images& images) {
  kernels::lanes alone{{.count = 0}};
  auto x = load_backbone(images, alone);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  return *x;
}

std::shared_ptr<const backbone_weights> load(model_ptr model,
                                             kernels::compute_options options) {
  return load(*packed_images::open(std::move(model), options));
}

constexpr kernels::compute_options oracle{kernels::isa::scalar,
                                          numeric_mode::f32};

/// Column `j` of a weight.
std::vector<float> column(const kernels::packed_weight& w, size_t j) {
  std::vector<float> x(w.inputs());
  std::vector<float> y(w.outputs());
  x[j] = 1;
  kernels::lanes alone{{.count = 0}};
  kernels::matmul(w, {x.data(), kernels::dtype::f32, 1, x.size(), x.size()},
                  {y.data(), 1, y.size(), y.size()}, alone);
  return y;
}

/// first, first + 1, ... count numbers.
void append_run(std::vector<float>& out, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out.push_back(static_cast<float>(first + i));
}

} // namespace

BOOST_AUTO_TEST_SUITE(loaded_weights_suite)

BOOST_AUTO_TEST_CASE(every_storage_takes_the_memory_that_was_predicted) {
  for (auto& name : bound_fixtures())
    for (auto mode : {numeric_mode::bf16, numeric_mode::f32}) {
      scratch_folder folder;
      auto model = make_model(folder, name);
      const kernels::compute_options options{kernels::best_isa(), mode};
      auto needs = memory_needs_of(*model, options);
      auto images = packed_images::open(model, options);
      BOOST_TEST(load(*images)->size_bytes() == needs.backbone_bytes, name);
      auto layer = moe_layers_of(model->config).front();
      auto expert = packed_expert::load(*images, layer, expert_id{0});
      BOOST_REQUIRE_MESSAGE(expert.has_value(),
                            (expert ? "" : expert.error().message));
      BOOST_TEST((*expert)->size_bytes() == needs.expert_bytes, name);
    }
}

BOOST_AUTO_TEST_CASE(every_storage_comes_back_from_the_cache_unread) {
  for (auto& name : bound_fixtures()) {
    scratch_folder folder;
    scratch_folder cache;
    auto model = make_model(folder, name);
    const kernels::compute_options options{kernels::best_isa(),
                                           numeric_mode::bf16};
    image_cache_options where;
    where.folder = cache.path();
    where.free_percent_min = 0;
    auto cold = packed_images::open(model, options, where);
    auto expected = load(*cold);
    auto layer = moe_layers_of(model->config).front();
    auto expert = cold->expert(layer, expert_id{0});
    BOOST_REQUIRE(expert.has_value());
    auto warm =
      packed_images::open(open_model(folder.path()).value(), options, where);
    auto found = load(*warm);
    auto again = warm->expert(layer, expert_id{0});
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(warm->stats().bytes_read == 0u, name);
    BOOST_TEST(found->size_bytes() == expected->size_bytes(), name);
    BOOST_TEST(std::equal(found->head.data(),
                          found->head.data() + found->head.size_bytes(),
                          expected->head.data()),
               name);
    BOOST_TEST(std::ranges::equal(again->bytes, expert->bytes), name);
  }
}

BOOST_AUTO_TEST_CASE(latent_heads_are_cut_and_the_keys_part_turned) {
  scratch_folder folder;
  auto model = make_model(folder, "deepseek_v3", row_number);
  auto weights = load(model, oracle);
  auto& x = std::get<mla_weights>(weights->layers[1].mixer);
  BOOST_REQUIRE(x.key_up.size() == 4u);
  // Head 2 has rows 64 ... 95 of kv_b_proj: 16 of the key, 16 of the value.
  BOOST_TEST(x.key_up[2].outputs() == 32u);
  BOOST_TEST(x.key_up[2].inputs() == 16u);
  BOOST_TEST(column(x.key_up[2], 5) == std::vector<float>(32, 64 + 5));
  std::vector<float> values;
  append_run(values, 80, 16);
  BOOST_TEST(column(x.value_up[2], 7) == values);
}

BOOST_AUTO_TEST_CASE(a_gate_among_the_queries_is_taken_out) {
  scratch_folder folder;
  auto model = make_model(folder, "qwen3_next", row_number);
  auto weights = load(model, oracle);
  auto& x = std::get<gqa_weights>(weights->layers[3].mixer);
  std::vector<float> queries;
  std::vector<float> gates;
  for (size_t head = 0; head < 4; ++head) {
    append_run(queries, 64 * head, 32);
    append_run(gates, 64 * head + 32, 32);
  }
  BOOST_TEST(column(x.q, 0) == queries);
  BOOST_TEST(column(x.gate, 0) == gates);
}

BOOST_AUTO_TEST_CASE(rows_by_key_head_are_put_in_order) {
  scratch_folder folder;
  auto model = make_model(folder, "qwen3_next", row_number);
  auto weights = load(model, oracle);
  auto& x = std::get<gated_delta_weights>(weights->layers[0].mixer);
  // Of each key head: q 16, k 16, v of two heads 32, z of two heads 32.
  std::vector<float> order;
  for (auto [begin, count] :
       {std::pair<size_t, size_t>{0, 16}, {16, 16}, {32, 32}, {64, 32}})
    for (size_t head = 0; head < 2; ++head)
      append_run(order, 96 * head + begin, count);
  BOOST_TEST(column(x.qkvz, 0) == order);
  // b of two heads, a of two heads.
  BOOST_TEST(column(x.ba, 0) == (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  // A tap of all channels lies together.
  BOOST_REQUIRE(x.kernel.size() == 128u * 4);
  BOOST_TEST(x.kernel[2 * 128 + 77] == 77.0f);
}

BOOST_AUTO_TEST_CASE(norms_stored_less_one_get_it_back) {
  scratch_folder folder;
  auto model = make_model(folder, "qwen3_next", row_number);
  auto weights = load(model, oracle);
  BOOST_TEST(weights->final_norm.weight[3] == 4.0f);
  BOOST_TEST(weights->layers[0].mixer_norm.weight[3] == 4.0f);
  BOOST_TEST(std::get<gqa_weights>(weights->layers[3].mixer).q_norm[3] == 4.0f);
  // The gated norm is not stored so.
  BOOST_TEST(std::get<gated_delta_weights>(weights->layers[0].mixer).norm[3] ==
             3.0f);
}

BOOST_AUTO_TEST_CASE(all_parts_of_a_layer_are_there) {
  scratch_folder folder;
  auto biased = load(make_model(folder, "phimoe", row_number), oracle);
  BOOST_TEST(biased->layers[0].mixer_norm.bias.size() == 64u);
  BOOST_TEST(biased->final_norm.bias.size() == 64u);
  BOOST_TEST(biased->head_bias.size() == 512u);
  auto gated = load(make_model(folder, "afmoe", row_number), oracle);
  BOOST_TEST(gated->layers[1].after_mixer.weight.size() == 64u);
  BOOST_TEST(gated->layers[1].after_ffn.weight.size() == 64u);
  BOOST_TEST(gated->layers[1].selection_bias.size() == 8u);
  BOOST_TEST(gated->layers[1].shared.has_value());
  BOOST_TEST(gated->layers[0].dense.has_value());
  BOOST_TEST(std::get<gqa_weights>(gated->layers[0].mixer).gate.outputs() ==
             64u);
  auto sunk = load(make_model(folder, "gpt_oss", row_number), oracle);
  BOOST_TEST(sunk->layers[0].router_bias.size() == 8u);
  BOOST_TEST(std::get<gqa_weights>(sunk->layers[0].mixer).sinks.size() == 4u);
  auto shared = load(make_model(folder, "qwen2_moe", row_number), oracle);
  BOOST_TEST(shared->layers[0].shared_gate.outputs() == 1u);
}

BOOST_AUTO_TEST_CASE(biases_of_experts_are_part_of_their_image) {
  scratch_folder folder;
  auto model = make_model(folder, "gpt_oss", row_number);
  auto images = packed_images::open(model, oracle);
  auto x = packed_expert::load(*images, layer_index{0}, expert_id{2});
  BOOST_REQUIRE(x.has_value());
  auto& ffn = (*x)->ffn();
  // Stored [8, 128]: each element is its row's number, that of the expert.
  BOOST_TEST(ffn.gate_bias == std::vector<float>(64, 2));
  BOOST_TEST(ffn.up_bias == std::vector<float>(64, 2));
  BOOST_TEST(ffn.down_bias == std::vector<float>(64, 2));
  BOOST_TEST((ffn.activation.kind == kernels::activation_kind::clamped_swish));
}

BOOST_AUTO_TEST_SUITE_END()
