// What a lost node costs, and what is said about it: one deadline for a frozen
// one, a request when nobody may stand in, nothing once it is back.
#include "tests/cluster/process_scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe::testing {

namespace {

/// Of the demo model.
constexpr auto pairs_per_row = uint64_t{6} * 4;

uint64_t number(const nlohmann::json& stats, const char* name) {
  return stats.at(name).get<uint64_t>();
}

} // namespace

BOOST_AUTO_TEST_SUITE(lost_nodes)

BOOST_AUTO_TEST_CASE(a_frozen_node_costs_one_deadline_and_no_token) {
  scenario x{.workers = 3, .faults = {"stop:w2@token=10"}, .tokens = 100};
  check_same_tokens(x);
  auto run = run_to_length(x);
  auto line = closing_line(run);
  BOOST_REQUIRE_MESSAGE(line.is_object(), describe(run));
  auto& stats = line.at("stats");
  // One for each layer would be six at once. A busy machine may be late once
  // more before, but then not again for a second.
  auto failures = number(stats.at("nodes").at("w2"), "failures");
  BOOST_TEST(failures >= 1u, describe(run));
  BOOST_TEST(failures <= 3u, describe(run));
}

BOOST_AUTO_TEST_CASE(a_killed_node_is_restarted_and_serves_again) {
  constexpr auto killed_at = uint64_t{10};
  scenario x{.workers = 3,
             .beside = company::alone,
             .faults = {"kill:w2@token=10"},
             .tokens = 900};
  auto run = run_to_length(x);
  auto line = closing_line(run);
  BOOST_REQUIRE_MESSAGE(line.is_object(), describe(run));
  auto& stats = line.at("stats");
  auto rows = number(stats, "prefill_tokens") + number(stats, "decode_tokens");
  auto before = (number(stats, "prefill_tokens") + killed_at) * pairs_per_row;
  // More than all pairs there were before its death: it came back.
  BOOST_TEST(number(stats.at("nodes").at("w2"), "pairs") > before,
             describe(run));
  BOOST_TEST(number(stats, "rerouted_pairs") < rows * pairs_per_row / 4,
             describe(run));
  BOOST_TEST(number(stats, "rerouted_pairs") + number(stats, "remote_pairs") ==
               rows * pairs_per_row,
             describe(run));
}

BOOST_AUTO_TEST_CASE(without_fallback_a_lost_node_fails_the_request_clearly) {
  scenario x{.workers = 3,
             .beside = company::alone,
             .faults = {"kill:w2@token=10"},
             .more = {"--no-fallback"},
             .tokens = 100};
  auto run = run_troupe(arguments_of(x));
  BOOST_TEST(run.exited_with(1), describe(run));
  BOOST_TEST(run.left_behind.empty(), describe(run));
  auto line = closing_line(run);
  BOOST_REQUIRE_MESSAGE(line.is_object(), describe(run));
  BOOST_TEST(line.at("finish_reason") == "error", describe(run));
  BOOST_TEST(line.at("error").at("code") == "node_down", describe(run));
  BOOST_TEST(line.at("ids").size() >= 10u, describe(run));
  BOOST_TEST(line.at("ids").size() < 20u, describe(run));
  for (auto text : {"layer ", "expert ", "w2", "fallback"})
    BOOST_TEST(
      run.err.find(text) != std::string::npos,
      fmt::format("no \"{}\" in the error of {}", text, describe(run)));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::testing
