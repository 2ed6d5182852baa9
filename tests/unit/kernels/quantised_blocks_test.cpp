// Weights kept as stored against the same weights expanded first: equal bits.
#include "kernels/quantised_blocks.hpp"

#include "kernels/matmul.hpp"
#include "kernels/moe_ffn.hpp"
#include "tests/unit/kernels/quantised_matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>
#include <string>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

constexpr weight_format formats[] = {weight_format::fp8_block,
                                     weight_format::mxfp4};

/// Expanded to the type of the mode, then packed.
packed_weight expanded(const quantised_view& w, compute_options options) {
  const auto pack = [&](auto element) {
    std::vector<decltype(element)> values(w.rows * w.cols);
    expand(options.isa, w, as_output(values.data(), w.rows, w.cols));
    return packed_weight::pack(as_activation(values.data(), w.rows, w.cols),
                               options);
  };
  return options.mode == numeric_mode::bf16 ? pack(bf16{}) : pack(float{});
}

/// Rows in the type of a mode.
struct input_rows {
  input_rows(size_t rows, size_t cols, uint64_t seed)
    : rows_(rows), cols_(cols), wide(random_floats(rows * cols, seed)) {
    for (const float x : wide)
      narrow.push_back(to_bf16(x));
  }
  activation_view view(numeric_mode mode, size_t rows) const {
    BOOST_REQUIRE(rows <= rows_);
    return mode == numeric_mode::bf16
             ? as_activation(narrow.data(), rows, cols_)
             : as_activation(wide.data(), rows, cols_);
  }

  size_t rows_, cols_;
  std::vector<float> wide;
  std::vector<bf16> narrow;
};

std::vector<float> product(const packed_weight& w, activation_view x,
                           lanes& pool) {
  std::vector<float> y(x.rows * w.outputs(), -1.0f);
  matmul(w, x, {y.data(), x.rows, w.outputs(), w.outputs()}, pool);
  return y;
}

std::string describe(const quantised_matrix& m, compute_options options,
                     size_t rows) {
  return std::string(to_string(m.format)) + " " + std::to_string(m.rows) +
         " x " + std::to_string(m.cols) + " in " +
         std::string(to_string(options.mode)) + " on " +
         std::string(to_string(options.isa)) + ", rows " + std::to_string(rows);
}

/// Compares the two ways for all of `rows`.
void compare(const quantised_matrix& m, compute_options options,
             std::span<const size_t> rows, lanes& pool) {
  const auto stored = packed_weight::pack(m.view(), options);
  const auto whole = expanded(m.view(), options);
  const input_rows x(rows.back(), m.cols, 77);
  for (const size_t count : rows) {
    const auto input = x.view(options.mode, count);
    BOOST_TEST(
      same_bits(product(stored, input, pool), product(whole, input, pool)),
      describe(m, options, count));
  }
}

constexpr numeric_mode modes[] = {numeric_mode::bf16, numeric_mode::f32};

/// One expert of each kind of weight.
struct expert_pair {
  expert_ffn stored;
  expert_ffn whole;
};

expert_pair random_expert(weight_format format, size_t hidden, size_t inner,
                          compute_options options) {
  expert_pair out;
  const auto fill = [&](packed_weight expert_ffn::*member, size_t outputs,
                        size_t inputs, uint64_t seed) {
    const auto m = random_matrix(format, outputs, inputs, seed);
    out.stored.*member = packed_weight::pack(m.view(), options);
    out.whole.*member = expanded(m.view(), options);
  };
  fill(&expert_ffn::gate, inner, hidden, 1);
  fill(&expert_ffn::up, inner, hidden, 2);
  fill(&expert_ffn::down, hidden, inner, 3);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(quantised_blocks_test)

BOOST_AUTO_TEST_CASE(as_stored_gives_the_bits_of_expanding_first) {
  constexpr size_t some_rows[] = {1, 2, 16, 17, 33, 70, 100};
  lanes pool({.count = 2});
  for (const auto format : formats)
    for (const auto mode : modes)
      for (const auto level : all_isas())
        for (const auto& [outputs, inputs] :
             {std::pair<size_t, size_t>{200, 160}, {64, 128}, {70, 33}}) {
          if (level == isa::scalar && outputs == 200)
            continue;
          compare(random_matrix(format, outputs, inputs, outputs + inputs),
                  {level, mode}, some_rows, pool);
        }
}

BOOST_AUTO_TEST_CASE(any_number_of_rows_gives_the_bits_of_expanding_first) {
  std::vector<size_t> rows(100);
  std::iota(rows.begin(), rows.end(), size_t{1});
  lanes pool({.count = 1});
  for (const auto format : formats)
    for (const auto mode : modes)
      compare(random_matrix(format, 130, 96, 6), {best_isa(), mode}, rows,
              pool);
}

BOOST_AUTO_TEST_CASE(odd_shapes_and_scales_give_the_bits_of_expanding_first) {
  const uint64_t seed = 31;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  lanes pool({.count = 2});
  for (int trial = 0; trial < 12; ++trial) {
    const size_t outputs = 1 + random() % 300, inputs = 1 + random() % 300;
    const std::array<size_t, 1> rows{1 + random() % 40};
    for (const auto format : formats)
      for (const auto kind : {scales_are::ordinary, scales_are::any})
        for (const auto level : all_isas())
          compare(random_matrix(format, outputs, inputs, random(), kind),
                  {level, numeric_mode::bf16}, rows, pool);
  }
}

BOOST_AUTO_TEST_CASE(long_rows_and_runs_of_blocks_give_the_same_bits) {
  constexpr size_t rows[] = {3, 49, 300};
  lanes pool({.count = 1});
  for (const auto format : formats) {
    compare(random_matrix(format, 64 * 20 + 9, 320, 1), {}, rows, pool);
    compare(random_matrix(format, 257, 5000, 2),
            {best_isa(), numeric_mode::f32}, std::span(rows).first(1), pool);
  }
}

BOOST_AUTO_TEST_CASE(infinite_scales_do_not_leak_into_the_padding) {
  // 40 columns: the second step of 32 has 24 that do not exist.
  quantised_matrix m = random_matrix(weight_format::fp8_block, 3, 40, 5);
  std::ranges::fill(m.codes, uint8_t{0x38});
  m.fp8_scales.assign(1, std::numeric_limits<float>::infinity());
  lanes pool({.count = 0});
  const input_rows x(1, 40, 3);
  std::vector<bf16> ones(40, to_bf16(1.0f));
  for (const auto level : all_isas()) {
    const auto w = packed_weight::pack(m.view(), {level, numeric_mode::bf16});
    for (const float y : product(w, as_activation(ones.data(), 1, 40), pool))
      BOOST_TEST(std::isinf(y));
  }
}

BOOST_AUTO_TEST_CASE(zeros_have_no_scale) {
  // Scales that would take the slow way, on blocks without a value.
  auto m = random_matrix(weight_format::mxfp4, 64, 64, 5);
  std::ranges::fill(m.codes, uint8_t{0x80});
  auto odd = m;
  std::ranges::fill(m.mxfp4_scales, uint8_t{127});
  std::ranges::fill(odd.mxfp4_scales, uint8_t{0});
  const auto a = packed_weight::pack(m.view(), compute_options{});
  const auto b = packed_weight::pack(odd.view(), compute_options{});
  BOOST_TEST(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

BOOST_AUTO_TEST_CASE(experts_as_stored_give_the_bits_of_expanded_ones) {
  const size_t hidden = 160, inner = 96, rows = 37;
  lanes pool({.count = 2});
  for (const auto mode : modes)
    for (const auto level : all_isas()) {
      const compute_options options{level, mode};
      const auto a = random_expert(formats[0], hidden, inner, options);
      const auto b = random_expert(formats[1], hidden, inner, options);
      const input_rows x(rows, hidden, 9);
      std::vector<uint32_t> from(rows), slots(rows), more(rows);
      std::iota(from.begin(), from.end(), 0u);
      std::iota(slots.begin(), slots.end(), 0u);
      std::iota(more.begin(), more.end(), uint32_t{rows});
      std::vector<float> y(2 * rows * hidden), expected(y.size());
      // Experts of several formats may meet in one call.
      const auto run = [&](const expert_ffn& first, const expert_ffn& second,
                           std::vector<float>& out) {
        const expert_rows work[] = {{&first, from, slots},
                                    {&second, from, more}};
        moe_ffn(work, x.view(mode, rows),
                as_output(out.data(), 2 * rows, hidden), pool);
      };
      run(a.whole, b.whole, expected);
      run(a.stored, b.stored, y);
      BOOST_TEST(same_bits(y, expected));
      run(a.whole, b.stored, y);
      BOOST_TEST(same_bits(y, expected));
    }
}

BOOST_AUTO_TEST_CASE(quantised_and_plain_weights_can_be_computed_together) {
  lanes pool({.count = 1});
  const auto m = random_matrix(weight_format::fp8_block, 100, 96, 4);
  const auto n = random_matrix(weight_format::mxfp4, 30, 96, 5);
  const compute_options options;
  const auto a = packed_weight::pack(m.view(), options);
  const auto b = expanded(n.view(), options);
  const input_rows x(20, 96, 6);
  const auto input = x.view(options.mode, 20);
  std::vector<float> ya(20 * 100), yb(20 * 30);
  const packed_weight* weights[] = {&a, &b};
  const matrix_view<float> ys[] = {{ya.data(), 20, 100, 100},
                                   {yb.data(), 20, 30, 30}};
  matmul(weights, input, ys, pool);
  BOOST_TEST(same_bits(ya, product(expanded(m.view(), options), input, pool)));
  BOOST_TEST(same_bits(yb, product(b, input, pool)));
}

BOOST_AUTO_TEST_CASE(packed_bytes_can_be_moved_and_viewed_again) {
  lanes pool({.count = 0});
  for (const auto format : formats)
    for (const auto mode : modes) {
      const compute_options options{best_isa(), mode};
      const auto m = random_matrix(format, 150, 224, 8);
      const weight_shape shape{150, 224, format};
      const auto w = packed_weight::pack(m.view(), options);
      BOOST_TEST(w.size_bytes() == packed_weight::bytes_needed(shape, options));
      aligned_buffer copy(w.size_bytes());
      std::memcpy(copy.data(), w.data(), w.size_bytes());
      const auto again =
        packed_weight::view({copy.data(), copy.size_bytes()}, shape, options);
      BOOST_TEST(static_cast<int>(again.format()) == static_cast<int>(format));
      const input_rows x(2, 224, 4);
      const auto input = x.view(mode, 2);
      BOOST_TEST(
        same_bits(product(again, input, pool), product(w, input, pool)));
    }
}

BOOST_AUTO_TEST_CASE(panels_do_not_depend_on_the_isa_and_have_names) {
  const auto m = random_matrix(weight_format::fp8_block, 150, 224, 8);
  const auto a =
    packed_weight::pack(m.view(), {isa::scalar, numeric_mode::bf16});
  const auto b =
    packed_weight::pack(m.view(), {best_isa(), numeric_mode::bf16});
  BOOST_TEST(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  std::vector<std::string> names;
  for (const auto mode : modes)
    for (const auto format :
         {weight_format::plain, weight_format::fp8_block, weight_format::mxfp4})
      names.push_back(packed_weight::layout({best_isa(), mode}, format));
  std::ranges::sort(names);
  BOOST_TEST((std::ranges::adjacent_find(names) == names.end()));
}

BOOST_AUTO_TEST_CASE(quantised_weights_take_the_memory_of_the_checkpoint) {
  const size_t outputs = 1536, inputs = 2048;
  const auto bytes = [&](weight_format format, numeric_mode mode) {
    return static_cast<double>(packed_weight::bytes_needed(
             {outputs, inputs, format}, {best_isa(), mode})) /
           static_cast<double>(outputs * inputs);
  };
  for (const auto mode : modes) {
    BOOST_TEST(bytes(weight_format::fp8_block, mode) < 1.01);
    BOOST_TEST(bytes(weight_format::mxfp4, mode) <= 17.0 / 32.0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
