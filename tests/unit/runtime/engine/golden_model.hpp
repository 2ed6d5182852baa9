// The golden checkpoint and what transformers computed from it in f32
// (tests/golden/models), and small helpers to run models in tests.
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/engine/local_generator.hpp"

#include <string>
#include <vector>

namespace troupe::golden {

inline constexpr const char* model_folder = "tests/golden/models/qwen3_moe";
inline constexpr const char* demo_folder = "models/demo";

/// Reference results of one prompt.
struct reference {
  std::vector<token_id> ids;
  std::vector<float> logits;              ///< [tokens, vocab]
  std::vector<std::vector<float>> hidden; ///< as in `pass_output`
  std::vector<token_id> greedy_ids;
  std::vector<float> greedy_margin; ///< top-1 minus top-2 logit, per greedy id
};

/// Prompt 0, 1 or 2. Fails the test when the file is not as expected.
reference load_reference(int prompt, const std::string& folder = model_folder);

/// The folders of tests/golden/models, in alphabetical order.
std::vector<std::string> model_folders();

/// Opens and loads a model; fails the test on error. Loaded once per mode.
local_model load(const std::string& folder, kernels::numeric_mode mode);

/// The largest |a - b|; infinite when the lengths differ.
double distance(const std::vector<float>& a, const std::vector<float>& b);

/// Whether both hold the same bits.
bool same_bits(std::span<const float> a, std::span<const float> b);

} // namespace troupe::golden
