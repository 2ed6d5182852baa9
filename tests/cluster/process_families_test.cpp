// Every model family on three node processes: the tokens of the single process.
#include "tests/support/troupe_process.hpp"

#include <algorithm>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>

namespace troupe::testing {

namespace {

namespace data = boost::unit_test::data;
using namespace std::chrono_literals;

constexpr auto run_limit = 60s;
constexpr size_t prompts = 3;

std::vector<std::string> folders() {
  std::vector<std::string> out;
  for (const auto& x :
       std::filesystem::directory_iterator{"tests/golden/models"})
    out.push_back(x.path().string());
  std::ranges::sort(out);
  return out;
}

/// One line of ids per prompt, in the order of the prompts.
std::vector<std::string> ids_of(const std::string& folder,
                                const std::string& dtype, int workers) {
  troupe_process run{{"generate", "--model", folder, "--prompts",
                      "tests/golden/prompts_ids.jsonl", "--max-tokens", "24",
                      "--temperature", "0", "--ignore-eos", "--dtype", dtype,
                      "--workers", std::to_string(workers), "--json"}};
  const auto end = run.wait(patient(run_limit));
  BOOST_TEST_REQUIRE(end.has_value(), run.command_line());
  BOOST_TEST_REQUIRE((*end == process_end{0, std::nullopt}),
                     run.command_line() << ": " << run.err());
  std::vector<std::string> out(prompts);
  for (const auto& x : run.events())
    if (x.at("event") == "done")
      out.at(x.value("prompt", size_t{0})) = x.at("ids").dump();
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(families_on_nodes)

BOOST_DATA_TEST_CASE(three_nodes_give_the_tokens_of_one_process,
                     data::make(folders()), folder) {
  for (const auto* dtype : {"f32", "bf16"}) {
    const auto alone = ids_of(folder, dtype, 0);
    BOOST_TEST(alone.back().size() > 24U);
    BOOST_TEST(ids_of(folder, dtype, 3) == alone,
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
