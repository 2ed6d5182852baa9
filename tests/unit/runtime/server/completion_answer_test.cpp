#include "runtime/server/completion_answer.hpp"
#include "runtime/server/completion_meter.hpp"
#include "runtime/server/stream_inbox.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

completion_answer answer(delivery how, unsigned version = 11) {
  return {{"cmpl-1", "demo", 5, 42}, how, {version, true, false}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(completion_answer_suite)

BOOST_AUTO_TEST_CASE(a_stream_begins_with_its_first_piece_and_ends_with_done) {
  auto x = answer(delivery::stream);
  BOOST_TEST(x.piece({"", {}}) == "");
  auto first = x.piece({"Hi", {7}});
  BOOST_TEST(first.starts_with("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(holds(first, "text/event-stream"));
  BOOST_TEST(holds(first, "Transfer-Encoding: chunked"));
  BOOST_TEST(holds(first, "\"text\":\"Hi\""));
  auto second = x.piece({" there", {8}});
  BOOST_TEST(!holds(second, "HTTP/1.1"));
  auto last = x.done({});
  BOOST_TEST(holds(last, "\"finish_reason\":\"stop\""));
  BOOST_TEST(last.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
  BOOST_TEST(!holds(last, "\"usage\""));
}

BOOST_AUTO_TEST_CASE(usage_comes_before_done) {
  auto last = answer(delivery::stream_with_usage).done({});
  auto usage = last.find("\"usage\"");
  BOOST_TEST(usage != std::string::npos);
  BOOST_TEST(usage < last.find("[DONE]"));
}

BOOST_AUTO_TEST_CASE(http_1_0_gets_no_chunks) {
  auto x = answer(delivery::stream, 10);
  BOOST_TEST(!holds(x.piece({"Hi", {7}}), "chunked"));
  BOOST_TEST(x.done({}).ends_with("data: [DONE]\n\n"));
}

BOOST_AUTO_TEST_CASE(a_whole_answer_is_sent_at_the_end) {
  auto x = answer(delivery::whole);
  BOOST_TEST(x.piece({"Hi", {7}}) == "");
  BOOST_TEST(x.piece({" there", {8}}) == "");
  auto got = x.done({});
  BOOST_TEST(holds(got, "\"text\":\"Hi there\""));
  BOOST_TEST(holds(got, "\"ids\":[7,8]"));
}

BOOST_AUTO_TEST_CASE(a_failure_before_the_first_piece_has_its_own_status) {
  for (auto how : {delivery::whole, delivery::stream}) {
    auto x = answer(how);
    BOOST_TEST(x.failed({ec::node_down, "gone"}).starts_with("HTTP/1.1 503"));
    BOOST_TEST(x.status() == 503u);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_in_mid_stream_is_its_last_event) {
  auto x = answer(delivery::stream);
  x.piece({"Hi", {7}});
  auto got = x.failed({ec::node_down, "gone"});
  BOOST_TEST(!holds(got, "HTTP/1.1"));
  BOOST_TEST(holds(got, "\"error\":{\"message\":\"gone\""));
  BOOST_TEST(got.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(the_inbox_wakes_once_and_keeps_the_order) {
  int woken = 0;
  stream_inbox inbox{10'000, [&] { ++woken; }};
  inbox.piece({"a", {1}});
  inbox.piece({"b", {2}});
  inbox.done({});
  BOOST_TEST(woken == 1);
  auto got = inbox.take();
  BOOST_TEST(!got.overflowed);
  BOOST_TEST_REQUIRE(got.events.size() == 3u);
  BOOST_TEST(std::get<completion_piece>(got.events[0]).text == "a");
  BOOST_TEST(std::get<completion_piece>(got.events[1]).text == "b");
  BOOST_TEST(std::holds_alternative<completion_end>(got.events[2]));
  inbox.failed({ec::internal, "x"});
  BOOST_TEST(woken == 2);
}

BOOST_AUTO_TEST_CASE(a_full_inbox_says_so_and_takes_no_more) {
  stream_inbox inbox{1000, [] {}};
  for (int i = 0; i < 100; ++i)
    inbox.piece({std::string(100, 'x'), {1}});
  auto got = inbox.take();
  BOOST_TEST(got.overflowed);
  BOOST_TEST(got.events.size() < 10u);
}

BOOST_AUTO_TEST_CASE(one_event_beyond_the_bound_still_wakes) {
  int woken = 0;
  stream_inbox inbox{1000, [&] { ++woken; }};
  inbox.piece({std::string(2000, 'x'), {1}});
  BOOST_TEST(woken == 1);
  BOOST_TEST(inbox.take().overflowed);
}

BOOST_AUTO_TEST_CASE(a_closed_inbox_ignores_everything) {
  int woken = 0;
  stream_inbox inbox{1000, [&] { ++woken; }};
  inbox.close();
  inbox.piece({"a", {1}});
  BOOST_TEST(woken == 0);
  BOOST_TEST(inbox.take().events.empty());
}

BOOST_AUTO_TEST_CASE(the_meter_counts_latencies_tokens_and_the_outcome) {
  metrics counts;
  time_point t0{};
  completion_meter meter{counts, t0};
  BOOST_TEST(holds(counts.text(), "troupe_requests_running 1"));
  meter.tokens(0, t0 + 1s);
  meter.tokens(1, t0 + 2s);
  meter.tokens(4, t0 + 3s);
  completion_end end;
  end.prompt_tokens = 30;
  meter.finished(end);
  auto text = counts.text();
  BOOST_TEST(holds(text, "troupe_requests_running 0"));
  BOOST_TEST(holds(text, "troupe_requests_total{outcome=\"stop\"} 1"));
  BOOST_TEST(holds(text, "troupe_tokens_total{phase=\"decode\"} 5"));
  BOOST_TEST(holds(text, "troupe_tokens_total{phase=\"prefill\"} 30"));
  BOOST_TEST(holds(text, "troupe_ttft_seconds_sum 2"));
  BOOST_TEST(holds(text, "troupe_tpot_seconds_sum 0.25"));
}

BOOST_AUTO_TEST_CASE(a_request_without_a_second_token_has_no_time_per_token) {
  metrics counts;
  completion_meter meter{counts, time_point{}};
  meter.tokens(1, time_point{} + 1s);
  meter.ended_early("cancelled");
  auto text = counts.text();
  BOOST_TEST(holds(text, "troupe_tpot_seconds_count 0"));
  BOOST_TEST(holds(text, "troupe_requests_total{outcome=\"cancelled\"} 1"));
}

BOOST_AUTO_TEST_SUITE_END()
