// The bf16 rule on every ISA, against golden bits of the AMX hardware and the
// scalar definition; batch invariance in both modes.
#include "kernels/matmul.hpp"

#include "kernels/reference/bf16_dot.hpp"
#include "tests/unit/kernels/probe.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

namespace {

struct problem {
  size_t rows, inputs, outputs;
  std::vector<bf16> x; ///< [rows, inputs]
  std::vector<bf16> w; ///< [outputs, inputs]
};

problem random_problem(size_t rows, size_t inputs, size_t outputs,
                       uint64_t seed, float scale = 1.0f) {
  return {rows, inputs, outputs, random_bf16(rows * inputs, seed, scale),
          random_bf16(outputs * inputs, seed + 1000, scale)};
}

std::vector<float> by_definition(const problem& p) {
  std::vector<float> y(p.rows * p.outputs);
  for (size_t i = 0; i < p.rows; ++i)
    for (size_t j = 0; j < p.outputs; ++j)
      y[i * p.outputs + j] =
        reference::bf16_dot({p.x.data() + i * p.inputs, p.inputs},
                            {p.w.data() + j * p.inputs, p.inputs});
  return y;
}

std::vector<float> by_kernel(const problem& p, isa level, lanes& pool) {
  const auto w =
    packed_weight::pack(as_activation(p.w.data(), p.outputs, p.inputs),
                        {level, numeric_mode::bf16});
  std::vector<float> y(p.rows * p.outputs, -1.0f);
  matmul(w, as_activation(p.x.data(), p.rows, p.inputs),
         {y.data(), p.rows, p.outputs, p.outputs}, pool);
  return y;
}

/// The tensors of a safetensors file, as bytes by name.
class golden_file {
public:
  explicit golden_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file, "cannot open " << path);
    const std::string all(std::istreambuf_iterator<char>(file), {});
    uint64_t size = 0;
    std::memcpy(&size, all.data(), sizeof size);
    header_ = nlohmann::json::parse(all.substr(8, size));
    data_ = all.substr(8 + size);
  }
  bool has(const std::string& name) const {
    return header_.contains(name);
  }
  size_t dim(const std::string& name, size_t axis) const {
    return header_.at(name).at("shape").at(axis).get<size_t>();
  }
  template <class T>
  std::vector<T> values(const std::string& name) const {
    const auto& range = header_.at(name).at("data_offsets");
    const auto begin = range.at(0).get<size_t>();
    const auto end = range.at(1).get<size_t>();
    std::vector<T> out((end - begin) / sizeof(T));
    std::memcpy(out.data(), data_.data() + begin, end - begin);
    return out;
  }

private:
  nlohmann::json header_;
  std::string data_;
};

/// The golden weights are [inputs, outputs].
std::vector<bf16> transposed(const std::vector<bf16>& w, size_t inputs,
                             size_t outputs) {
  std::vector<bf16> out(w.size());
  for (size_t k = 0; k < inputs; ++k)
    for (size_t n = 0; n < outputs; ++n)
      out[n * inputs + k] = w[k * outputs + n];
  return out;
}

constexpr size_t lane_counts[] = {0, 1, 2, 3};

} // namespace

BOOST_AUTO_TEST_SUITE(matmul_test)

BOOST_AUTO_TEST_CASE(every_isa_gives_the_golden_bits_of_amx) {
  const golden_file golden("tests/golden/kernels/bf16_dot.safetensors");
  lanes pool({.count = 0});
  int cases = 0;
  for (; golden.has("case" + std::to_string(cases) + ".x"); ++cases) {
    const auto name = "case" + std::to_string(cases);
    problem p;
    p.rows = golden.dim(name + ".x", 0);
    p.inputs = golden.dim(name + ".x", 1);
    p.outputs = golden.dim(name + ".w", 1);
    p.x = golden.values<bf16>(name + ".x");
    p.w = transposed(golden.values<bf16>(name + ".w"), p.inputs, p.outputs);
    const auto expected = golden.values<float>(name + ".y");
    BOOST_TEST(same_bits(by_definition(p), expected), name << " by definition");
    for (const auto level : all_isas())
      BOOST_TEST(same_bits(by_kernel(p, level, pool), expected),
                 name << " on " << to_string(level));
  }
  BOOST_TEST(cases == 6);
}

BOOST_AUTO_TEST_CASE(odd_shapes_give_the_bits_of_the_definition) {
  const uint64_t seed = 7;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  lanes pool({.count = 2});
  for (int trial = 0; trial < 40; ++trial) {
    const size_t rows = 1 + random() % 70, inputs = 1 + random() % 150;
    const size_t outputs = 1 + random() % 150;
    const auto p = random_problem(rows, inputs, outputs, random());
    const auto expected = by_definition(p);
    for (const auto level : all_isas())
      BOOST_TEST(same_bits(by_kernel(p, level, pool), expected),
                 rows << " x " << inputs << " x " << outputs << " on "
                      << to_string(level));
  }
}

BOOST_AUTO_TEST_CASE(long_rows_and_many_rows_give_equal_bits_on_all_isas) {
  lanes pool({.count = 2});
  for (const auto& [rows, inputs, outputs] :
       {std::array<size_t, 3>{33, 9000, 70},
        {300, 224, 200},
        {1, 4100, 64},
        {17, 8192, 64}}) {
    const auto p = random_problem(rows, inputs, outputs, inputs);
    const auto expected = by_kernel(p, isa::scalar, pool);
    for (const auto level : all_isas())
      BOOST_TEST(same_bits(by_kernel(p, level, pool), expected),
                 rows << " x " << inputs << " on " << to_string(level));
  }
}

BOOST_AUTO_TEST_CASE(tasks_of_several_blocks_give_the_bits_of_the_definition) {
  const size_t rows = 49, inputs = 40, outputs = 33 * 64 + 5;
  lanes pool({.count = 1});
  const auto p = random_problem(rows, inputs, outputs, 12);
  const auto expected = by_definition(p);
  for (const auto level : all_isas()) {
    const auto w = packed_weight::pack(
      as_activation(p.w.data(), outputs, inputs), {level, numeric_mode::bf16});
    BOOST_TEST(blocks_per_task(w, rows, w.blocks(), pool) > 1u);
    BOOST_TEST(same_bits(by_kernel(p, level, pool), expected),
               "on " << to_string(level));
  }
}

BOOST_AUTO_TEST_CASE(denormals_are_flushed_alike_everywhere) {
  lanes pool({.count = 0});
  // Products near the least normal number, and denormal inputs.
  for (const float scale : {1e-19f, 5e-20f, 2e-38f, 1e-39f, 1e18f}) {
    auto p = random_problem(5, 64, 64, 11, scale);
    const auto expected = by_definition(p);
    for (const auto level : all_isas())
      BOOST_TEST(same_bits(by_kernel(p, level, pool), expected),
                 "scale " << scale << " on " << to_string(level));
  }
}

BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_alone_and_in_any_batch) {
  const size_t inputs = 200, outputs = 130;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto level : all_isas()) {
    const compute_options options{level, numeric_mode::bf16};
    lanes pool({.count = 2});
    const auto source = random_bf16(outputs * inputs, 3);
    const auto w = packed_weight::pack(
      as_activation(source.data(), outputs, inputs), options);
    const auto row = random_bf16(inputs, 4);
    std::vector<float> alone(outputs);
    matmul(w, as_activation(row.data(), 1, inputs),
           {alone.data(), 1, outputs, outputs}, pool);
    for (const size_t rows : {2u, 16u, 17u, 33u, 48u, 64u, 65u})
      for (const float other : {1.0f, 3e38f, nan})
        for (size_t at = 0; at < rows; at += 5) {
          std::vector<bf16> x(rows * inputs, to_bf16(other));
          std::ranges::copy(row, x.begin() + static_cast<long>(at * inputs));
          std::vector<float> y(rows * outputs);
          matmul(w, as_activation(x.data(), rows, inputs),
                 {y.data(), rows, outputs, outputs}, pool);
          BOOST_TEST(same_bits({y.data() + at * outputs, outputs}, alone),
                     "row " << at << " of " << rows << " on "
                            << to_string(level));
        }
  }
}

BOOST_AUTO_TEST_CASE(the_number_of_lanes_changes_no_bit) {
  const auto p = random_problem(70, 96, 300, 5);
  lanes alone({.count = 0});
  const auto expected = by_kernel(p, best_isa(), alone);
  for (const size_t count : lane_counts) {
    lanes pool({.count = count});
    BOOST_TEST(same_bits(by_kernel(p, best_isa(), pool), expected));
  }
}

BOOST_AUTO_TEST_CASE(packed_bytes_do_not_depend_on_the_isa_or_the_owner) {
  const auto source = random_bf16(130 * 100, 9);
  const auto view = as_activation(source.data(), 130, 100);
  const auto own = packed_weight::pack(view, {isa::scalar, numeric_mode::bf16});
  const compute_options options{best_isa(), numeric_mode::bf16};
  aligned_buffer memory(packed_weight::bytes_needed(130, 100, options));
  const std::span bytes(memory.data(), memory.size_bytes());
  const auto placed = packed_weight::pack_into(bytes, view, options);
  BOOST_TEST(placed.size_bytes() == own.size_bytes());
  BOOST_TEST(std::memcmp(placed.data(), own.data(), own.size_bytes()) == 0);
  const auto again = packed_weight::view(bytes, 130, 100, options);
  BOOST_TEST(again.data() == memory.data());
  BOOST_TEST(again.blocks() == 3u);
  BOOST_TEST(again.columns_of(2) == 2u);
}

BOOST_AUTO_TEST_CASE(weights_of_one_input_can_be_computed_together) {
  lanes pool({.count = 2});
  const compute_options options{best_isa(), numeric_mode::bf16};
  const auto a = random_problem(40, 96, 100, 21);
  auto b = random_problem(40, 96, 30, 22);
  b.x = a.x;
  const auto pack = [&](const problem& p) {
    return packed_weight::pack(as_activation(p.w.data(), p.outputs, p.inputs),
                               options);
  };
  const auto wa = pack(a), wb = pack(b);
  std::vector<float> ya(40 * 100), yb(40 * 30);
  const packed_weight* weights[] = {&wa, &wb};
  const matrix_view<float> ys[] = {{ya.data(), 40, 100, 100},
                                   {yb.data(), 40, 30, 30}};
  matmul(weights, as_activation(a.x.data(), 40, 96), ys, pool);
  BOOST_TEST(same_bits(ya, by_definition(a)));
  BOOST_TEST(same_bits(yb, by_definition(b)));
}

BOOST_AUTO_TEST_CASE(f32_mode_is_close_to_f64_and_batch_invariant) {
  lanes pool({.count = 2});
  const compute_options options{best_isa(), numeric_mode::f32};
  for (const size_t inputs : {100u, 768u, 5000u}) {
    const size_t outputs = 300, rows = 70;
    const auto source = random_floats(outputs * inputs, inputs);
    const auto w = packed_weight::pack(
      as_activation(source.data(), outputs, inputs), options);
    const auto x = random_floats(rows * inputs, inputs + 1);
    std::vector<float> y(rows * outputs);
    matmul(w, as_activation(x.data(), rows, inputs),
           {y.data(), rows, outputs, outputs}, pool);
    double worst = 0;
    for (size_t i = 0; i < rows; i += 23)
      for (size_t j = 0; j < outputs; j += 7) {
        double sum = 0;
        for (size_t k = 0; k < inputs; ++k)
          sum += double{x[i * inputs + k]} * double{source[j * inputs + k]};
        worst = std::max(worst, std::fabs(sum - double{y[i * outputs + j]}));
      }
    BOOST_TEST(worst < 1e-4 * std::sqrt(static_cast<double>(inputs)));
    for (const size_t at : {0u, 5u, 31u, 69u}) {
      std::vector<float> alone(outputs);
      matmul(w, as_activation(x.data() + at * inputs, 1, inputs),
             {alone.data(), 1, outputs, outputs}, pool);
      BOOST_TEST(same_bits(alone, {y.data() + at * outputs, outputs}),
                 "row " << at << ", K " << inputs);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
