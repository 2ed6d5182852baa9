// One expert out of each way to store them: its own bytes only, and each
// element at its place.
#include "runtime/model/expert_source.hpp"

#include "tests/unit/runtime/model/fixture_models.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr layer_index layer{1};
constexpr expert_id expert{3};

/// Element i of every tensor is i mod 65521: what lies at an index is known,
/// and neighbours by row, column and expert differ.
uint16_t element(uint64_t i) {
  return static_cast<uint16_t>(i % 65521);
}

std::byte numbered(const fixture_tensor& x, uint64_t i) {
  if (x.dtype == "U8" || x.dtype == "F8_E4M3")
    return static_cast<std::byte>((i * 7 + i / 251) & 0xff);
  if (x.dtype != "BF16")
    return std::byte{0};
  auto value = element(i / 2);
  return static_cast<std::byte>(i % 2 == 0 ? value & 0xff : value >> 8);
}

model_ptr numbered_model(const scratch_folder& folder,
                         const std::string& fixture) {
  write_model(folder, fixture_config(fixture), fixture_tensors(fixture),
              numbered);
  auto x = open_model(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  return *x;
}

uint16_t at(const host_tensor& x, uint64_t row, uint64_t col) {
  uint16_t out = 0;
  std::memcpy(&out, x.data.get() + (row * x.shape[1] + col) * 2, 2);
  return out;
}

uint8_t byte_at(const host_tensor& x, uint64_t row, uint64_t col) {
  return static_cast<uint8_t>(x.data[row * x.shape[1] + col]);
}

struct storage_sizes {
  uint64_t hidden;
  uint64_t inner;
};

/// Index in a fused tensor of output `i`, input `h` of gate (or up).
using gate_index = uint64_t (*)(storage_sizes s, bool up, uint64_t i,
                                uint64_t h);

void check_fused(const std::string& fixture, gate_index index,
                 bool down_is_transposed) {
  scratch_folder folder;
  auto model = numbered_model(folder, fixture);
  auto before = model->files.bytes_read();
  auto x = read_expert(*model, layer, expert);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(model->files.bytes_read() - before ==
             expert_storage_bytes(*model, layer, expert));
  const storage_sizes s{model->config.hidden_size,
                        model->config.ffn.expert_size};
  BOOST_TEST(
    (x->gate.values.shape == std::vector<uint64_t>{s.inner, s.hidden}));
  BOOST_TEST(
    (x->down.values.shape == std::vector<uint64_t>{s.hidden, s.inner}));
  const auto both = expert.value * 2 * s.inner * s.hidden;
  const auto down = expert.value * s.inner * s.hidden;
  bool same = true;
  for (uint64_t i = 0; i < s.inner; ++i)
    for (uint64_t h = 0; h < s.hidden; ++h) {
      same = same &&
             at(x->gate.values, i, h) == element(both + index(s, false, i, h));
      same =
        same && at(x->up.values, i, h) == element(both + index(s, true, i, h));
      auto place = down_is_transposed ? i * s.hidden + h : h * s.inner + i;
      same = same && at(x->down.values, h, i) == element(down + place);
    }
  BOOST_TEST(same, fixture);
}

} // namespace

BOOST_AUTO_TEST_SUITE(expert_source_suite)

BOOST_AUTO_TEST_CASE(gate_lies_before_up) {
  check_fused(
    "granitemoe",
    [](storage_sizes s, bool up, uint64_t i, uint64_t h) {
      return ((up ? s.inner : 0) + i) * s.hidden + h;
    },
    false);
}

BOOST_AUTO_TEST_CASE(inputs_are_rows) {
  check_fused(
    "llama4_text",
    [](storage_sizes s, bool up, uint64_t i, uint64_t h) {
      return h * 2 * s.inner + (up ? s.inner : 0) + i;
    },
    true);
}

BOOST_AUTO_TEST_CASE(gate_and_up_alternate) {
  check_fused(
    "gpt_oss",
    [](storage_sizes s, bool up, uint64_t i, uint64_t h) {
      return h * 2 * s.inner + 2 * i + (up ? 1 : 0);
    },
    true);
}

BOOST_AUTO_TEST_CASE(biases_alternate_like_their_columns) {
  scratch_folder folder;
  auto model = numbered_model(folder, "gpt_oss");
  auto x = read_expert(*model, layer, expert);
  BOOST_REQUIRE(x.has_value());
  const uint64_t inner = model->config.ffn.expert_size;
  const uint64_t hidden = model->config.hidden_size;
  BOOST_TEST((x->gate_bias.shape == std::vector<uint64_t>{1, inner}));
  for (uint64_t i = 0; i < inner; ++i) {
    BOOST_TEST(at(x->gate_bias, 0, i) ==
               element(expert.value * 2 * inner + 2 * i));
    BOOST_TEST(at(x->up_bias, 0, i) ==
               element(expert.value * 2 * inner + 2 * i + 1));
  }
  BOOST_TEST(at(x->down_bias, 0, 5) == element(expert.value * hidden + 5));
}

BOOST_AUTO_TEST_CASE(packed_codes_and_scales_alternate_by_row) {
  scratch_folder folder;
  auto model = numbered_model(folder, "gpt_oss_mxfp4");
  auto before = model->files.bytes_read();
  auto x = read_expert(*model, layer, expert);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(model->files.bytes_read() - before ==
             expert_storage_bytes(*model, layer, expert));
  const uint64_t hidden = model->config.hidden_size;
  const uint64_t inner = model->config.ffn.expert_size;
  BOOST_TEST(x->up.rows == inner);
  BOOST_TEST(x->up.cols == hidden);
  BOOST_TEST((x->up.format == weight_format::mxfp4));
  const fixture_tensor bytes{"", "U8", {}};
  const auto code = [&](uint64_t row, uint64_t col) {
    auto i = (expert.value * 2 * inner + row) * (hidden / 2) + col;
    return static_cast<uint8_t>(numbered(bytes, i));
  };
  const auto scale = [&](uint64_t row, uint64_t col) {
    auto i = (expert.value * 2 * inner + row) * (hidden / 32) + col;
    return static_cast<uint8_t>(numbered(bytes, i));
  };
  for (uint64_t i = 0; i < inner; i += 9) {
    BOOST_TEST(byte_at(x->gate.values, i, 30) == code(2 * i, 30));
    BOOST_TEST(byte_at(x->up.values, i, 31) == code(2 * i + 1, 31));
    BOOST_TEST(byte_at(x->gate.scales, i, 1) == scale(2 * i, 1));
    BOOST_TEST(byte_at(x->up.scales, i, 0) == scale(2 * i + 1, 0));
  }
}

BOOST_AUTO_TEST_CASE(scales_come_with_their_matrix) {
  scratch_folder folder;
  auto model = numbered_model(folder, "deepseek_v3_fp8");
  auto before = model->files.bytes_read();
  auto x = read_expert(*model, layer, expert);
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST((x->down.format == weight_format::fp8_block));
  BOOST_TEST((x->down.values.shape == std::vector<uint64_t>{192, 160}));
  BOOST_TEST((x->down.scales.shape == std::vector<uint64_t>{2, 2}));
  BOOST_TEST(model->files.bytes_read() - before ==
             expert_storage_bytes(*model, layer, expert));
}

BOOST_AUTO_TEST_SUITE_END()
