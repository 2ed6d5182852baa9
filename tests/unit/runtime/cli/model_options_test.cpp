// Lists of token ids as people write them.
#include "runtime/cli/model_options.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::cli;

namespace {

std::vector<token_id> ids_of(const std::string& text) {
  auto ids = parse_ids(text);
  BOOST_TEST_REQUIRE(ids.has_value(), text);
  return *ids;
}

} // namespace

BOOST_AUTO_TEST_SUITE(model_options_suite)

BOOST_AUTO_TEST_CASE(ids_may_have_spaces_and_brackets) {
  BOOST_TEST((ids_of("1,2,3") == std::vector<token_id>{1, 2, 3}));
  BOOST_TEST((ids_of("[1, 2, 3]\n") == std::vector<token_id>{1, 2, 3}));
  BOOST_TEST((ids_of("0") == std::vector<token_id>{0}));
}

BOOST_AUTO_TEST_CASE(what_is_no_list_of_ids_is_refused_by_item) {
  for (auto* text : {"", "1,,2", "1,x", "-1", "1.5", "99999999999", "0x1"}) {
    auto ids = parse_ids(text);
    BOOST_TEST_REQUIRE(!ids.has_value(), text);
    BOOST_TEST((ids.error().code == ec::invalid_argument));
  }
  BOOST_TEST(parse_ids("1,x2").error().message.find("x2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unknown_instructions_and_types_have_defaults) {
  model_options x;
  auto compute = x.compute();
  BOOST_TEST_REQUIRE(compute.has_value());
  BOOST_TEST((compute->mode == kernels::numeric_mode::bf16));
  BOOST_TEST((compute->isa == kernels::best_isa()));
  BOOST_TEST(x.lane_options().count >= 1u);
  x.dtype = "f32";
  x.isa = "scalar";
  x.lanes = 3;
  compute = x.compute();
  BOOST_TEST_REQUIRE(compute.has_value());
  BOOST_TEST((compute->mode == kernels::numeric_mode::f32));
  BOOST_TEST((compute->isa == kernels::isa::scalar));
  BOOST_TEST(x.lane_options().count == 3u);
}

BOOST_AUTO_TEST_CASE(a_folder_without_tokenizer_is_fine_until_it_is_needed) {
  const std::string folder = "tests/golden/models/qwen3_moe";
  auto found = open_tokenizer(folder);
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(!found->has_value());
  auto needed = need_tokenizer(folder);
  BOOST_TEST_REQUIRE(!needed.has_value());
  BOOST_TEST((needed.error().code == ec::not_found));
  BOOST_TEST(needed.error().message.find("--ids") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
