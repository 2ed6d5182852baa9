// Perplexity of held-out text of the demo model: the blocks, the bounds, and
// that bf16 costs next to nothing. The full figures are compared by
// `troupe eval perplexity` (docs/operations.md).
#include "golden_model.hpp"
#include "runtime/engine/perplexity.hpp"
#include "runtime/engine/sequence_pass.hpp"
#include "runtime/model/tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

using namespace troupe;
using kernels::numeric_mode;

namespace {

std::vector<token_id> heldout(const char* name) {
  const std::string folder = golden::demo_folder;
  const auto words = tokenizer::load(folder + "/tokenizer.json");
  BOOST_TEST_REQUIRE(words.has_value());
  std::ifstream file{folder + "/heldout/" + name};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  BOOST_TEST_REQUIRE(!text.empty());
  auto ids = words->encode(text);
  BOOST_TEST_REQUIRE(ids.has_value());
  return std::move(*ids);
}

perplexity_report measure(std::span<const token_id> ids, numeric_mode mode,
                          perplexity_options options) {
  kernels::lanes pool{{.count = 1}};
  const auto out = measure_perplexity(
    ids, golden::load(golden::demo_folder, mode), options, pool);
  BOOST_TEST_REQUIRE(out.has_value());
  return *out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(perplexity)

BOOST_AUTO_TEST_CASE(bf16_is_within_one_percent_of_f32) {
  const auto ids = heldout("kjv.txt");
  const perplexity_options options{64, 20};
  const auto exact = measure(ids, numeric_mode::f32, options);
  const auto rounded = measure(ids, numeric_mode::bf16, options);
  BOOST_TEST_MESSAGE("nll f32 " << exact.nll << ", bf16 " << rounded.nll);
  BOOST_TEST(exact.tokens == 20u * 63);
  BOOST_TEST(rounded.tokens == exact.tokens);
  BOOST_TEST(exact.nll > 3.0);
  BOOST_TEST(exact.nll < 5.0);
  BOOST_TEST(std::abs(rounded.nll - exact.nll) < 0.01 * exact.nll);
}

BOOST_AUTO_TEST_CASE(each_block_is_scored_from_its_second_token_on) {
  const auto ids = heldout("python.txt");
  const auto text = std::span{ids}.first(21);
  const auto found = measure(text, numeric_mode::f32, {10, 0});
  BOOST_TEST(found.tokens == 18u); // 9 + 9, and a block of one token: none
  double sum = 0;
  kernels::lanes pool{{.count = 1}};
  const auto model = golden::load(golden::demo_folder, numeric_mode::f32);
  for (size_t at : {size_t{0}, size_t{10}}) {
    const auto block = text.subspan(at, 10);
    const auto out = evaluate_sequence(block, model, pool, {});
    BOOST_TEST_REQUIRE(out.has_value());
    for (size_t i = 0; i + 1 < block.size(); ++i)
      sum += *nll(std::span{out->logits}.subspan(i * out->vocab, out->vocab),
                  block[i + 1]);
  }
  BOOST_TEST(std::abs(found.nll - sum / 18) < 1e-12);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_scored_is_refused) {
  kernels::lanes pool{{.count = 0}};
  const auto model = golden::load(golden::demo_folder, numeric_mode::bf16);
  const std::vector<token_id> one{5};
  const std::vector<token_id> outside{5, 4096};
  const std::vector<token_id> good{5, 6};
  const auto code = [&](const std::vector<token_id>& ids, uint32_t context) {
    const auto out = measure_perplexity(ids, model, {context, 0}, pool);
    return out ? ec::none : out.error().code;
  };
  BOOST_TEST((code(good, 256) == ec::none));
  BOOST_TEST((code(one, 256) == ec::invalid_argument));
  BOOST_TEST((code(outside, 256) == ec::invalid_argument));
  BOOST_TEST((code(good, 1) == ec::invalid_argument));
  BOOST_TEST((code(good, 1025) == ec::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
