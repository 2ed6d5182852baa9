// What the ledger promises: recorded before emitted, each token once, in order,
// whoever repeats, and whatever the sink does.
#include "runtime/engine/request_ledger.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <thread>

using namespace troupe;

namespace {

/// Keeps what it was given; may throw once at a chosen token.
struct recording_sink : token_sink {
  std::vector<token_id> tokens;
  std::vector<finish_reason> ends;
  std::optional<error> why;
  int throw_at = -1;

  void token(sequence_id, uint32_t index, token_id x) override {
    BOOST_TEST(index == tokens.size());
    if (throw_at == static_cast<int>(index)) {
      throw_at = -1;
      throw std::runtime_error{"sink"};
    }
    tokens.push_back(x);
  }

  void finished(sequence_id, finish_reason reason,
                const std::optional<error>& x) override {
    ends.push_back(reason);
    why = x;
  }
};

generation_request request_of(std::vector<token_id> prompt) {
  return {std::move(prompt), {}};
}

struct fixture {
  request_ledger ledger{4};
  std::shared_ptr<recording_sink> sink = std::make_shared<recording_sink>();
  sequence_id id = *ledger.open(request_of({7, 8}), sink);
};

} // namespace

BOOST_AUTO_TEST_SUITE(ledger)

BOOST_FIXTURE_TEST_CASE(a_new_token_is_recorded_and_emitted, fixture) {
  BOOST_TEST(*ledger.append(id, 0, 41));
  BOOST_TEST(*ledger.append(id, 1, 42));
  BOOST_TEST(sink->tokens == std::vector<token_id>({41, 42}),
             boost::test_tools::per_element());
  const auto entry = ledger.find(id);
  BOOST_TEST_REQUIRE(entry.has_value());
  BOOST_TEST(entry->emitted == sink->tokens, boost::test_tools::per_element());
  BOOST_TEST(entry->request.prompt.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_repeated_token_is_not_emitted_again, fixture) {
  BOOST_TEST(*ledger.append(id, 0, 41));
  BOOST_TEST(!*ledger.append(id, 0, 41));
  BOOST_TEST(sink->tokens.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(another_token_at_a_known_index_is_an_error, fixture) {
  BOOST_TEST(*ledger.append(id, 0, 41));
  const auto x = ledger.append(id, 0, 40);
  BOOST_TEST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::internal));
  BOOST_TEST(x.error().message.find("was 41 and is now 40") !=
             std::string::npos);
  BOOST_TEST(sink->tokens == std::vector<token_id>({41}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_gap_is_an_error, fixture) {
  const auto x = ledger.append(id, 1, 41);
  BOOST_TEST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::internal));
}

BOOST_FIXTURE_TEST_CASE(the_first_end_wins, fixture) {
  BOOST_TEST(ledger.running(id));
  BOOST_TEST(
    *ledger.finish(id, finish_reason::failed, error{ec::node_down, "gone"}));
  BOOST_TEST(!*ledger.finish(id, finish_reason::stop));
  BOOST_TEST(!ledger.running(id));
  BOOST_TEST_REQUIRE(sink->ends.size() == 1u);
  BOOST_TEST((sink->ends[0] == finish_reason::failed));
  BOOST_TEST(sink->why->message == "gone");
}

BOOST_FIXTURE_TEST_CASE(a_finished_sequence_takes_no_new_token, fixture) {
  BOOST_TEST(*ledger.append(id, 0, 41));
  BOOST_TEST(*ledger.finish(id, finish_reason::length));
  BOOST_TEST(!*ledger.append(id, 0, 41));
  BOOST_TEST((ledger.append(id, 1, 42).error().code == ec::cancelled));
}

BOOST_FIXTURE_TEST_CASE(a_sink_that_throws_loses_nothing, fixture) {
  sink->throw_at = 1;
  BOOST_TEST(*ledger.append(id, 0, 41));
  BOOST_CHECK_THROW((void)ledger.append(id, 1, 42), std::runtime_error);
  BOOST_TEST(ledger.find(id)->emitted.size() == 2u);
  BOOST_TEST(!*ledger.append(id, 1, 42));
  BOOST_TEST(*ledger.append(id, 2, 43));
  BOOST_TEST(sink->tokens == std::vector<token_id>({41, 42, 43}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_number_of_open_requests_is_bounded, fixture) {
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(ledger.open(request_of({1}), nullptr).has_value());
  const auto x = ledger.open(request_of({1}), nullptr);
  BOOST_TEST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::overloaded));
  ledger.close(id);
  BOOST_TEST(ledger.open(request_of({1}), nullptr).has_value());
}

BOOST_FIXTURE_TEST_CASE(closing_a_running_sequence_cancels_it, fixture) {
  ledger.close(id);
  ledger.close(id);
  BOOST_TEST_REQUIRE(sink->ends.size() == 1u);
  BOOST_TEST((sink->ends[0] == finish_reason::cancelled));
  BOOST_TEST((ledger.append(id, 0, 1).error().code == ec::not_found));
  BOOST_TEST(
    (ledger.finish(id, finish_reason::stop).error().code == ec::not_found));
}

BOOST_FIXTURE_TEST_CASE(an_empty_prompt_is_refused, fixture) {
  BOOST_TEST((ledger.open(request_of({}), nullptr).error().code ==
              ec::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(unfinished_lists_what_a_restart_continues, fixture) {
  const auto second = *ledger.open(request_of({9}), nullptr);
  const auto third = *ledger.open(request_of({10}), nullptr);
  BOOST_TEST(*ledger.append(id, 0, 41));
  BOOST_TEST(*ledger.finish(second, finish_reason::stop));
  const auto open = ledger.unfinished();
  BOOST_TEST_REQUIRE(open.size() == 2u);
  BOOST_TEST((open[0].id == id && open[1].id == third));
  BOOST_TEST(open[0].emitted == std::vector<token_id>({41}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(two_threads_that_repeat_a_run_emit_it_once, fixture) {
  constexpr uint32_t tokens = 2000;
  const auto run = [&] {
    for (uint32_t i = 0; i < tokens; ++i)
      (void)ledger.append(id, i, static_cast<token_id>(i));
  };
  // Both emit the same tokens, as a restarted and a dying actor do.
  std::thread other{run};
  run();
  other.join();
  BOOST_TEST(sink->tokens.size() == tokens);
}

BOOST_AUTO_TEST_SUITE_END()
