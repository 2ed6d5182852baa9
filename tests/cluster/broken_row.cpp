#include "tests/cluster/broken_row.hpp"

#include "tests/support/troupe_process.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sstream>

namespace troupe::testing {

using test::scratch_folder;

damage writes(std::string name, std::string bytes) {
  return [=](const scratch_folder& x) { x.write(name, bytes); };
}

damage removes(std::string name) {
  return
    [=](const scratch_folder& x) { std::filesystem::remove(x.path(name)); };
}

damage replaces(std::string name, std::string from, std::string to) {
  return [=](const scratch_folder& x) {
    x.write(name, test::with(test::read_all(x.path(name)), from, to));
  };
}

damage cuts(std::string name, size_t bytes) {
  return [=](const scratch_folder& x) {
    auto all = test::read_all(x.path(name));
    BOOST_REQUIRE(bytes < all.size());
    x.write(name, std::string_view{all}.substr(0, bytes));
  };
}

namespace {

std::vector<std::string> words_of(const std::string& command,
                                  const std::string& folder) {
  std::vector<std::string> words;
  std::istringstream in{command};
  for (std::string word; in >> word;) {
    if (auto at = word.find("{dir}"); at != std::string::npos)
      word.replace(at, 5, folder);
    words.push_back(word);
  }
  return words;
}

} // namespace

void check_broken(const std::vector<broken_row>& table) {
  for (auto& row : table) {
    BOOST_TEST_CONTEXT(row.what) {
      scratch_folder folder;
      folder.copy_from("tests/golden/models/qwen3_moe");
      if (row.how)
        row.how(folder);
      auto run = run_troupe(words_of(row.command, folder.path()),
                            std::chrono::seconds(20));
      BOOST_TEST(run.exited_with(row.code), describe(run));
      for (auto& part : row.says)
        BOOST_TEST(run.err.find(part) != std::string::npos,
                   "not said: " << part << "\n"
                                << describe(run));
      BOOST_TEST(run.err.find("Sanitizer") == std::string::npos, run.err);
      BOOST_TEST(run.err.size() < 4000U);
      BOOST_TEST(run.out.empty());
      BOOST_TEST(run.left_behind.empty());
    }
  }
}

} // namespace troupe::testing
