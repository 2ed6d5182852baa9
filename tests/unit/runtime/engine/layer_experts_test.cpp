// Images of packed experts: bytes that can be moved, stored and viewed again.
#include "golden_model.hpp"
#include "runtime/engine/layer_experts.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace troupe;
using kernels::numeric_mode;

namespace {

std::vector<std::byte> outputs_of(const kernels::expert_ffn& expert,
                                  kernels::compute_options options) {
  const size_t hidden = expert.gate.inputs();
  kernels::lanes alone{{.count = 0}};
  hidden_rows x{3, hidden, row_type(options.mode)};
  for (size_t i = 0; i < 3 * hidden; ++i) {
    const auto value = static_cast<float>(i % 17) / 16 - 0.5F;
    if (options.mode == numeric_mode::f32)
      x.memory.as<float>()[i] = value;
    else
      x.memory.as<kernels::bf16>()[i] = kernels::to_bf16(value);
  }
  hidden_rows y{3, hidden, kernels::dtype::f32};
  kernels::dense_ffn(expert, x.view(), y.output(), alone);
  const auto bytes = y.memory.as<std::byte>();
  return {bytes.begin(), bytes.end()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(layer_experts_suite)

BOOST_AUTO_TEST_CASE(an_image_means_the_same_at_another_address) {
  const auto model = open_model(golden::demo_folder);
  BOOST_TEST_REQUIRE(model.has_value());
  for (auto mode : {numeric_mode::bf16, numeric_mode::f32}) {
    const kernels::compute_options options{kernels::best_isa(), mode};
    const auto bytes = packed_expert_bytes((*model)->config, options);
    kernels::aligned_buffer first{bytes};
    const auto packed = pack_expert_into(first.as<std::byte>(), **model,
                                         layer_index{2}, expert_id{7}, options);
    BOOST_TEST_REQUIRE(packed.has_value());
    const auto expected = outputs_of(
      view_expert(first.as<std::byte>(), (*model)->config, options), options);
    kernels::aligned_buffer second{bytes};
    std::memcpy(second.data(), first.data(), bytes);
    std::memset(first.data(), 0xff, bytes);
    const auto viewed =
      view_expert(second.as<std::byte>(), (*model)->config, options);
    BOOST_TEST((outputs_of(viewed, options) == expected));
  }
}

BOOST_AUTO_TEST_CASE(layouts_of_other_bytes_have_other_names) {
  const auto best = kernels::best_isa();
  BOOST_TEST(packed_expert_layout({best, numeric_mode::bf16}) !=
             packed_expert_layout({best, numeric_mode::f32}));
  BOOST_TEST(packed_expert_layout({best, numeric_mode::bf16}) ==
             packed_expert_layout({kernels::isa::scalar, numeric_mode::bf16}));
}

BOOST_AUTO_TEST_SUITE_END()
