// Whole tokenizers of real models against what Hugging Face's library gives:
// TROUPE_FIXTURES names a folder with tokenizers/NAME/tokenizer.json and
// tokenizers/NAME/expected.json, too large for the repository. Without it the
// test is skipped.
#include "runtime/model/tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace troupe;
using nlohmann::json;

namespace {

using ids = std::vector<token_id>;

std::filesystem::path fixtures() {
  auto* folder = std::getenv("TROUPE_FIXTURES");
  return folder ? std::filesystem::path{folder} / "tokenizers"
                : std::filesystem::path{};
}

boost::test_tools::assertion_result
has_fixtures(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result out{!fixtures().empty()};
  out.message() << "TROUPE_FIXTURES names no folder";
  return out;
}

void check_case(const tokenizer& tokens, const json& x,
                const std::string& name) {
  auto text = x["text"].get<std::string>();
  auto plain = x["ids"].get<ids>();
  auto expected = x["ids_with_special"].get<ids>();
  auto bare = tokens.encode(text);
  auto around =
    tokens.encode(text, {template_tokens::add, special_text::parse});
  BOOST_REQUIRE_MESSAGE(bare && around, name << ": " << x["text"]);
  BOOST_TEST(*bare == plain, name << ": " << x["text"]);
  BOOST_TEST(*around == expected, name << ": " << x["text"]);
  BOOST_TEST(tokens.decode(plain) == x["decoded"].get<std::string>(),
             name << ": " << x["text"]);
  BOOST_TEST(tokens.decode(expected, special_output::skip) ==
               x["decoded_skip_special"].get<std::string>(),
             name << ": " << x["text"]);
}

} // namespace

BOOST_AUTO_TEST_SUITE(tokenizer_fixtures_suite)

BOOST_AUTO_TEST_CASE(every_text_of_every_fixture_gives_the_library_s_ids,
                     *boost::unit_test::precondition(has_fixtures)) {
  size_t tokenizers = 0;
  for (const auto& folder : std::filesystem::directory_iterator{fixtures()}) {
    auto name = folder.path().filename().string();
    auto tokens = tokenizer::load(folder.path() / "tokenizer.json");
    BOOST_REQUIRE_MESSAGE(tokens, tokens.error().message);
    std::ifstream file{folder.path() / "expected.json"};
    auto expected = json::parse(file);
    BOOST_TEST(!expected["cases"].empty(), name);
    for (const auto& x : expected["cases"])
      check_case(*tokens, x, name);
    ++tokenizers;
  }
  BOOST_TEST(tokenizers > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
