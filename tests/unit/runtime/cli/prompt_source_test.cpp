// Prompts from the command line and from files of JSON lines.
#include "runtime/cli/prompt_source.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace troupe;
using namespace troupe::cli;

namespace {

/// A file that lives as long as a test.
struct scratch_file {
  explicit scratch_file(const std::string& text)
    : path(std::filesystem::temp_directory_path() /
           fmt::format("troupe-prompts-{}", getpid())) {
    std::ofstream{path} << text;
  }
  ~scratch_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::filesystem::path path;
};

result<std::vector<generation_request>> read_lines(const std::string& text) {
  scratch_file file{text};
  prompt_arguments x;
  x.prompts_file = file.path;
  sampling_params params;
  params.seed = 7;
  params.max_tokens = 5;
  return read_prompts(x, std::nullopt, params);
}

} // namespace

BOOST_AUTO_TEST_SUITE(prompt_source_suite)

BOOST_AUTO_TEST_CASE(ids_are_a_prompt_of_their_own) {
  prompt_arguments x;
  x.ids = "4,5";
  auto all = read_prompts(x, std::nullopt, {});
  BOOST_TEST_REQUIRE(all.has_value());
  BOOST_TEST_REQUIRE(all->size() == 1u);
  BOOST_TEST(((*all)[0].prompt == std::vector<token_id>{4, 5}));
  BOOST_TEST(!x.many());
}

BOOST_AUTO_TEST_CASE(each_line_is_a_request_and_may_have_its_own_seed) {
  auto all = read_lines("{\"ids\": [1, 2]}\n"
                        "\n"
                        "{\"ids\": [3], \"seed\": 9, \"max_tokens\": 2}\n");
  BOOST_TEST_REQUIRE(all.has_value());
  BOOST_TEST_REQUIRE(all->size() == 2u);
  BOOST_TEST(((*all)[0].prompt == std::vector<token_id>{1, 2}));
  BOOST_TEST((*all)[0].params.seed == 7u);
  BOOST_TEST((*all)[0].params.max_tokens == 5u);
  BOOST_TEST(((*all)[1].prompt == std::vector<token_id>{3}));
  BOOST_TEST((*all)[1].params.seed == 9u);
  BOOST_TEST((*all)[1].params.max_tokens == 2u);
}

BOOST_AUTO_TEST_CASE(a_faulty_line_is_named_by_number) {
  for (auto* line :
       {"not json", "[1]", "{}", "{\"ids\": []}", "{\"ids\": [-1]}",
        "{\"ids\": [4294967296]}", "{\"ids\": [1], \"sead\": 3}",
        "{\"ids\": [1], \"seed\": \"x\"}", "{\"prompt\": \"no tokenizer\"}"}) {
    auto all = read_lines(fmt::format("{{\"ids\": [1]}}\n{}\n", line));
    BOOST_TEST_REQUIRE(!all.has_value(), line);
    BOOST_TEST(all.error().message.find(":2") != std::string::npos,
               all.error().message);
  }
  BOOST_TEST(!read_lines("\n \n").has_value());
}

BOOST_AUTO_TEST_CASE(text_without_a_tokenizer_is_told_about_ids) {
  prompt_arguments x;
  x.prompt = "hello";
  auto all = read_prompts(x, std::nullopt, {});
  BOOST_TEST_REQUIRE(!all.has_value());
  BOOST_TEST(all.error().message.find("--ids") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
