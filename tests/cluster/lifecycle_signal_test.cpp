// SIGTERM and SIGINT end head and node process within 5 s, whatever they are
// doing and whatever their peers do, and leave nothing behind.
#include "tests/cluster/serve_process.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"
#include "tests/unit/runtime/server/http_client.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::testing;

namespace bdata = boost::unit_test::data;
using std::chrono::seconds;

namespace {

const auto both_signals = bdata::make({SIGTERM, SIGINT});

/// For what must happen before the signal is sent.
const auto start_limit = patient(seconds(30));

/// Tokens that keep nodes busy for longer than any of these tests takes.
std::vector<std::string> long_generation() {
  return {"generate", "--model",       "models/demo", "--prompt",
          "It is",    "--temperature", "0",           "--max-tokens",
          "1000",     "--ignore-eos",  "--json",      "--workers",
          "2",        "--fault",       "slow:*=1ms"};
}

std::vector<std::string> node_arguments(uint16_t port) {
  return {"worker",
          "--model",
          "models/demo",
          "--head",
          fmt::format("127.0.0.1:{}", port),
          "--name",
          "n1"};
}

/// A stream of more tokens than any of these tests waits for.
class open_stream {
public:
  explicit open_stream(serve_process& head) : client_(head.http_port()) {
    client_.request("POST", "/v1/completions",
                    R"({"prompt": "It is", "max_tokens": 1000, "stream": true,
                        "temperature": 0, "ignore_eos": true})");
    BOOST_REQUIRE(client_.sees("data: {"));
  }

private:
  http_client client_;
};

/// The promise of this file.
void check_end(troupe_process& x, int number, int code) {
  x.signal(number);
  auto end = x.wait(patient(seconds(5)));
  BOOST_TEST_REQUIRE(end.has_value(), x.command_line());
  BOOST_TEST(to_string(*end) == fmt::format("exit {}", code));
  BOOST_TEST(x.wait_for_no_descendants(patient(seconds(1))).empty());
}

void send_to_worker(troupe_process& head, std::string_view name, int number) {
  auto pid = head.worker(name);
  BOOST_REQUIRE(pid > 0);
  BOOST_REQUIRE(kill(pid, number) == 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lifecycle_signal)

// -- generate -----------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_generating_head_ends, both_signals, number) {
  troupe_process head{long_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(3, start_limit));
  check_end(head, number, 1);
  BOOST_TEST(head.events().back().at("finish_reason") == "cancelled");
}

BOOST_DATA_TEST_CASE(a_head_whose_node_has_died_ends, both_signals, number) {
  troupe_process head{long_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(3, start_limit));
  send_to_worker(head, "w1", SIGKILL);
  check_end(head, number, 1);
}

BOOST_DATA_TEST_CASE(a_head_whose_nodes_are_frozen_ends, both_signals, number) {
  troupe_process head{long_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(3, start_limit));
  send_to_worker(head, "w1", SIGSTOP);
  send_to_worker(head, "w2", SIGSTOP);
  check_end(head, number, 1);
}

BOOST_DATA_TEST_CASE(a_loading_head_ends, both_signals, number) {
  for (auto text : {"loading the backbone", "starting 5 workers"}) {
    troupe_process head{{"generate", "--model", "models/demo", "--prompt",
                         "It is", "--dtype", "f32", "--workers", "5",
                         "--max-tokens", "1000", "--ignore-eos"}};
    BOOST_REQUIRE(head.wait_for_error_text(text, start_limit));
    check_end(head, number, 1);
  }
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_at_once) {
  troupe_process head{long_generation()};
  BOOST_REQUIRE(head.wait_for_tokens(3, start_limit));
  send_to_worker(head, "w1", SIGSTOP);
  head.signal(SIGTERM);
  // The frozen node keeps it for 1.5 s now.
  BOOST_REQUIRE(head.wait_for_error_text("interrupted", start_limit));
  head.signal(SIGINT);
  auto end = head.wait(patient(seconds(1)));
  BOOST_REQUIRE(end.has_value());
  BOOST_TEST(to_string(*end) == "exit 130");
  BOOST_TEST(head.wait_for_no_descendants(patient(seconds(1))).empty());
}

BOOST_AUTO_TEST_CASE(a_head_that_writes_to_nobody_ends) {
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  auto arguments = long_generation();
  arguments.back() = "slow:*=1us";
  // A full pipe from the start.
  BOOST_REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  std::string block(4096, '\n');
  while (write(ends[1], block.data(), block.size()) > 0)
    ;
  BOOST_REQUIRE(fcntl(ends[1], F_SETFL, 0) == 0);
  troupe_process head{arguments, ends[1]};
  close(ends[1]);
  BOOST_REQUIRE(
    head.wait_until([&] { return head.worker("w2") > 0; }, start_limit));
  check_end(head, SIGTERM, 1);
  close(ends[0]);
}

BOOST_AUTO_TEST_CASE(a_reader_that_has_left_ends_the_generation) {
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  close(ends[0]);
  troupe_process head{long_generation(), ends[1]};
  close(ends[1]);
  auto end = head.wait(start_limit);
  BOOST_REQUIRE(end.has_value());
  BOOST_TEST(to_string(*end) == "exit 1");
  BOOST_TEST(head.err().find("standard output") != std::string::npos);
  BOOST_TEST(head.wait_for_no_descendants(patient(seconds(1))).empty());
}

// -- serve --------------------------------------------------------------------

BOOST_DATA_TEST_CASE(an_idle_server_ends, both_signals, number) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  BOOST_REQUIRE(head.wait_for_node("w2", "alive"));
  http_client idle{head.http_port()};
  BOOST_REQUIRE(idle.connected());
  check_end(head.process(), number, 0);
}

BOOST_DATA_TEST_CASE(a_streaming_server_ends, both_signals, number) {
  serve_process head{{"--workers", "2", "--fault", "slow:*=1ms"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  open_stream client{head};
  check_end(head.process(), number, 0);
}

BOOST_DATA_TEST_CASE(a_server_whose_node_has_died_ends, both_signals, number) {
  serve_process head{{"--workers", "2", "--fault", "slow:*=1ms"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  open_stream client{head};
  send_to_worker(head.process(), "w1", SIGKILL);
  check_end(head.process(), number, 0);
}

BOOST_DATA_TEST_CASE(a_server_whose_nodes_are_frozen_ends, both_signals,
                     number) {
  serve_process head{{"--workers", "2"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  BOOST_REQUIRE(head.wait_for_node("w2", "alive"));
  send_to_worker(head.process(), "w1", SIGSTOP);
  send_to_worker(head.process(), "w2", SIGSTOP);
  check_end(head.process(), number, 0);
}

BOOST_DATA_TEST_CASE(a_loading_server_ends, both_signals, number) {
  troupe_process head{{"serve", "--model", "models/demo", "--listen",
                       "127.0.0.1:0", "--dtype", "f32", "--workers", "5"}};
  BOOST_REQUIRE(head.wait_for_error_text("loading the backbone", start_limit));
  head.signal(number);
  auto end = head.wait(patient(seconds(5)));
  BOOST_REQUIRE(end.has_value());
  // It may serve by the time the signal comes.
  BOOST_TEST((end->code == 0 || end->code == 1));
  BOOST_TEST(head.wait_for_no_descendants(patient(seconds(1))).empty());
}

// -- worker -------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_node_without_a_head_ends, both_signals, number) {
  troupe_process node{node_arguments(1)}; // nobody listens there
  BOOST_REQUIRE(node.wait_for_error_text("no head", start_limit));
  check_end(node, number, 0);
}

BOOST_DATA_TEST_CASE(an_idle_node_ends, both_signals, number) {
  serve_process head;
  troupe_process node{node_arguments(head.actor_port())};
  BOOST_REQUIRE(head.wait_for_node("n1", "alive"));
  check_end(node, number, 0);
  BOOST_TEST(head.wait_for_node("n1", "dead"));
}

BOOST_DATA_TEST_CASE(a_computing_node_ends, both_signals, number) {
  serve_process head;
  troupe_process node{node_arguments(head.actor_port())};
  BOOST_REQUIRE(head.wait_for_node("n1", "alive"));
  open_stream client{head};
  check_end(node, number, 0);
}

BOOST_DATA_TEST_CASE(a_node_whose_head_was_killed_ends, both_signals, number) {
  serve_process head;
  troupe_process node{node_arguments(head.actor_port())};
  BOOST_REQUIRE(head.wait_for_node("n1", "alive"));
  head.process().signal(SIGKILL);
  BOOST_REQUIRE(node.wait_for_error_text("is lost", start_limit));
  check_end(node, number, 0);
}

BOOST_DATA_TEST_CASE(a_node_whose_head_is_frozen_ends, both_signals, number) {
  serve_process head;
  troupe_process node{node_arguments(head.actor_port())};
  BOOST_REQUIRE(head.wait_for_node("n1", "alive"));
  open_stream client{head};
  head.process().signal(SIGSTOP);
  check_end(node, number, 0);
}

BOOST_DATA_TEST_CASE(a_loading_node_ends, both_signals, number) {
  serve_process head{{"--dtype", "f32"}};
  auto arguments = node_arguments(head.actor_port());
  arguments.insert(arguments.end(), {"--dtype", "f32"});
  troupe_process node{arguments};
  BOOST_REQUIRE(node.wait_for_error_text("loading the experts", start_limit));
  check_end(node, number, 0);
}

BOOST_AUTO_TEST_SUITE_END()
