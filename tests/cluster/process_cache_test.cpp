// The cache of packed weights seen from outside: what each process reads from
// the checkpoint, first and again, and that no token depends on it.
#include "tests/support/troupe_process.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>

namespace troupe::testing {

namespace {

/// Of the demo model: 16 experts in each of 6 layers, three matrices of 256 x
/// 128 in bf16.
constexpr uint64_t expert_bytes = 3 * 256 * 128 * 2;
constexpr uint64_t layers = 6;

using texts = std::vector<std::string>;

/// The last line of a run that must have ended well.
nlohmann::json closing(const troupe_run& x) {
  BOOST_TEST_REQUIRE(x.exited_with(0), describe(x));
  BOOST_TEST_REQUIRE(!x.events.empty(), describe(x));
  return x.events.back();
}

uint64_t read_by_head(const nlohmann::json& x) {
  return x.at("stats").at("checkpoint_bytes_read").get<uint64_t>();
}

uint64_t read_by(const nlohmann::json& x, const std::string& node) {
  return x.at("stats")
    .at("nodes")
    .at(node)
    .at("checkpoint_bytes_read")
    .get<uint64_t>();
}

struct fixture {
  nlohmann::json generate(const texts& more) const {
    texts all{"generate",      "--model",
              "models/demo",   "--json",
              "--prompt",      "It is a truth",
              "--max-tokens",  "12",
              "--temperature", "0"};
    all.insert(all.end(), more.begin(), more.end());
    return closing(run_troupe(std::move(all), patient(wait_limit{120'000})));
  }

  texts cached(texts more) const {
    more.insert(more.end(), {"--cache-dir", folder.path("cache")});
    return more;
  }

  test::scratch_folder folder;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cache_of_packed_weights, fixture)

BOOST_AUTO_TEST_CASE(a_node_reads_its_share_once_and_then_nothing) {
  const auto cold = generate(cached({"--workers", "3"}));
  // Round robin: 6, 5 and 5 of a layer's experts.
  const uint64_t share[] = {6, 5, 5};
  for (size_t i = 0; i < 3; ++i) {
    const auto read = read_by(cold, fmt::format("w{}", i + 1));
    BOOST_TEST(read >= share[i] * layers * expert_bytes);
    BOOST_TEST(read <= share[i] * layers * expert_bytes * 105 / 100);
  }
  BOOST_TEST(read_by_head(cold) > 0u); // the backbone
  BOOST_TEST(read_by_head(cold) < 16 * layers * expert_bytes);
  const auto warm = generate(cached({"--workers", "3"}));
  for (auto node : {"w1", "w2", "w3"})
    BOOST_TEST(read_by(warm, node) == 0u);
  BOOST_TEST(read_by_head(warm) == 0u);
  BOOST_TEST(warm.at("ids") == cold.at("ids"));
}

BOOST_AUTO_TEST_CASE(tokens_do_not_depend_on_the_cache) {
  const auto without = generate({"--no-cache"});
  BOOST_TEST(read_by_head(without) > 0u);
  const auto cold = generate(cached({}));
  const auto warm = generate(cached({}));
  const auto copied = generate(cached({"--cache-pages", "anonymous"}));
  BOOST_TEST(read_by_head(warm) == 0u);
  BOOST_TEST(read_by_head(copied) == 0u);
  for (const auto& x : {cold, warm, copied})
    BOOST_TEST(x.at("ids") == without.at("ids"));
}

BOOST_AUTO_TEST_CASE(lost_experts_come_from_the_dead_node_s_work) {
  const auto cold = generate(cached({"--workers", "2"}));
  const auto x =
    generate(cached({"--workers", "2", "--fault", "kill:w2@token=3"}));
  BOOST_TEST(x.at("stats").at("rerouted_pairs").get<uint64_t>() > 0u);
  BOOST_TEST(read_by_head(x) == 0u);
  BOOST_TEST(x.at("ids") == cold.at("ids"));
}

BOOST_AUTO_TEST_CASE(nodes_killed_while_they_fill_it_leave_it_sound) {
  const auto expected = generate({"--no-cache"});
  for (int i = 0; i < 5; ++i) {
    troupe_process victim{
      cached({"serve", "--model", "models/demo", "--listen", "127.0.0.1:0",
              "--workers", "2", "--cluster-listen", "127.0.0.1:0"})};
    const auto file_grows = [&] {
      std::error_code failed;
      for (std::filesystem::directory_iterator
             all{folder.path("cache"), failed},
           end;
           !failed && all != end; all.increment(failed))
        return true;
      return false;
    };
    victim.wait_until(file_grows, patient(wait_limit{20'000}));
    for (auto pid : victim.descendants())
      kill(pid, SIGKILL);
    victim.signal(SIGKILL);
    BOOST_TEST(victim.wait(patient(wait_limit{20'000})).has_value());
  }
  BOOST_TEST(generate(cached({"--workers", "2"})).at("ids") ==
             expected.at("ids"));
  BOOST_TEST(generate(cached({})).at("ids") == expected.at("ids"));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_used_is_told_once) {
  const auto run = run_troupe({"generate", "--model", "models/demo", "--json",
                               "--ids", "1,2,3", "--max-tokens", "2",
                               "--cache-dir", "/proc/nowhere/troupe"},
                              patient(wait_limit{60'000}));
  BOOST_TEST(run.exited_with(0), describe(run));
  const auto first = run.err.find("cache of packed weights:");
  BOOST_TEST(first != std::string::npos, describe(run));
  BOOST_TEST(run.err.find("cache of packed weights:", first + 1) ==
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_cache_can_be_listed_and_cleared) {
  generate(cached({}));
  const auto listed = run_troupe(cached({"cache", "list", "--json"}));
  BOOST_TEST_REQUIRE(listed.exited_with(0), describe(listed));
  BOOST_TEST_REQUIRE(listed.events.size() == 1u);
  BOOST_TEST(listed.events[0].at("bytes").get<uint64_t>() >
             16 * layers * expert_bytes);
  BOOST_TEST(listed.events[0].at("note").get<std::string>().find(
               "models/demo") != std::string::npos);
  BOOST_TEST(!listed.events[0].at("in_use").get<bool>());
  const auto cleared = run_troupe(cached({"cache", "clear", "--json"}));
  BOOST_TEST_REQUIRE(cleared.exited_with(0), describe(cleared));
  BOOST_TEST(cleared.events.at(0).at("kept") == 0);
  BOOST_TEST(run_troupe(cached({"cache", "list", "--json"})).events.empty());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
