// The engine against transformers: logits, hidden states and greedy tokens of
// the golden checkpoint.
#include "golden_model.hpp"
#include "runtime/engine/sequence_pass.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace troupe;

namespace {

constexpr double tolerance = 1e-3;
constexpr int prompts = 3;

sequence_output evaluate(const golden::reference& x,
                         kernels::numeric_mode mode) {
  kernels::lanes pool{{.count = 1}};
  auto out = evaluate_sequence(x.ids, golden::load(golden::model_folder, mode),
                               pool, {64, hidden_capture::all});
  BOOST_TEST_REQUIRE(out.has_value());
  return std::move(*out);
}

/// Difference of the two largest values.
float margin_of(std::span<const float> row) {
  std::vector<float> x(row.begin(), row.end());
  std::partial_sort(x.begin(), x.begin() + 2, x.end(), std::greater<>{});
  return x[0] - x[1];
}

token_id best_of(std::span<const float> row) {
  return static_cast<token_id>(std::max_element(row.begin(), row.end()) -
                               row.begin());
}

} // namespace

BOOST_AUTO_TEST_SUITE(golden_results)

BOOST_AUTO_TEST_CASE(f32_logits_agree_with_the_reference) {
  for (int i = 0; i < prompts; ++i) {
    const auto expected = golden::load_reference(i);
    const auto found = evaluate(expected, kernels::numeric_mode::f32);
    const auto far = golden::distance(found.logits, expected.logits);
    BOOST_TEST_MESSAGE("prompt " << i << ": largest difference " << far);
    BOOST_TEST(far < tolerance);
  }
}

BOOST_AUTO_TEST_CASE(f32_hidden_states_agree_with_the_reference) {
  for (int i = 0; i < prompts; ++i) {
    const auto expected = golden::load_reference(i);
    const auto found = evaluate(expected, kernels::numeric_mode::f32);
    BOOST_TEST_REQUIRE(found.hidden.size() == expected.hidden.size());
    for (size_t l = 0; l < found.hidden.size(); ++l)
      BOOST_TEST(golden::distance(found.hidden[l], expected.hidden[l]) <
                 tolerance);
  }
}

BOOST_AUTO_TEST_CASE(f32_greedy_tokens_are_those_of_the_reference) {
  kernels::lanes pool{{.count = 1}};
  std::vector<generation_request> requests;
  for (int i = 0; i < prompts; ++i) {
    auto& x = requests.emplace_back();
    x.prompt = golden::load_reference(i).ids;
    x.params.max_tokens = 24;
    x.params.ignore_eos = true;
  }
  auto generator = local_generator::make(
    golden::load(golden::model_folder, kernels::numeric_mode::f32), pool, {});
  BOOST_TEST_REQUIRE(generator.has_value());
  const auto found = generator->generate(requests);
  BOOST_TEST_REQUIRE(found.has_value());
  for (int i = 0; i < prompts; ++i)
    BOOST_TEST((*found)[static_cast<size_t>(i)].ids ==
                 golden::load_reference(i).greedy_ids,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(f32_greedy_texts_of_the_demo_model_are_the_reference) {
  std::ifstream file{std::string{golden::demo_folder} +
                     "/expected_greedy.json"};
  const auto cases = nlohmann::json::parse(file).at("cases");
  std::vector<generation_request> requests;
  for (const auto& x : cases) {
    auto& y = requests.emplace_back();
    x.at("prompt_ids").get_to(y.prompt);
    y.params.max_tokens = 64;
    y.params.ignore_eos = true;
  }
  kernels::lanes pool{{.count = 1}};
  auto generator = local_generator::make(
    golden::load(golden::demo_folder, kernels::numeric_mode::f32), pool, {});
  BOOST_TEST_REQUIRE(generator.has_value());
  const auto found = generator->generate(requests);
  BOOST_TEST_REQUIRE(found.has_value());
  for (size_t i = 0; i < requests.size(); ++i)
    BOOST_TEST((*found)[i].ids ==
                 cases[i].at("greedy_ids").get<std::vector<token_id>>(),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bf16_agrees_where_the_best_token_is_clear) {
  long clear = 0;
  long agreeing = 0;
  for (int i = 0; i < prompts; ++i) {
    const auto expected = golden::load_reference(i);
    const auto found = evaluate(expected, kernels::numeric_mode::bf16);
    BOOST_TEST_REQUIRE(found.logits.size() == expected.logits.size());
    BOOST_TEST_MESSAGE("prompt "
                       << i << ": largest difference "
                       << golden::distance(found.logits, expected.logits));
    for (size_t at = 0; at < found.logits.size(); at += found.vocab) {
      const auto want = std::span{expected.logits}.subspan(at, found.vocab);
      if (margin_of(want) <= 0.1F)
        continue;
      ++clear;
      const auto have = std::span{found.logits}.subspan(at, found.vocab);
      agreeing += best_of(have) == best_of(want) ? 1 : 0;
    }
  }
  BOOST_TEST_MESSAGE(agreeing << " of " << clear << " clear tokens agree");
  BOOST_TEST(clear > 10);
  BOOST_TEST(agreeing == clear);
}

BOOST_AUTO_TEST_SUITE_END()
