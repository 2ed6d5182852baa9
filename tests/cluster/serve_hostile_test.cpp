// Hostile bytes at both ports of a real head: it answers or closes, keeps its
// nodes, and gives the same completion afterwards.
#include "tests/cluster/raw_socket.hpp"
#include "tests/cluster/serve_process.hpp"
#include "tests/support/basp_frames.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;
using namespace troupe::testing;

using json = nlohmann::json;
using std::chrono::seconds;

namespace {

const json question{
  {"prompt", "It is a truth"}, {"max_tokens", 12}, {"temperature", 0}};

byte_vector text(std::string_view x) {
  return frame_builder{}.raw(x).done();
}

byte_vector noise(unsigned seed, size_t size) {
  std::mt19937 random{seed};
  byte_vector result(size);
  for (auto& x : result)
    x = static_cast<std::byte>(random());
  return result;
}

byte_vector operator+(byte_vector x, const byte_vector& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

byte_vector header_only(basp::op op, uint32_t payload_size) {
  auto x = header_of(op);
  x.payload_size = payload_size;
  return encode(x);
}

/// A peer that greets as a node does, then sends a message of that type with
/// nonsense in it to every actor the head may have.
byte_vector greeted(std::string_view types, uint32_t process) {
  auto bytes = encode(client_handshake(process));
  for (uint64_t id = 1; id < 64; ++id)
    bytes = bytes + encode(direct_message(types, id));
  return bytes;
}

std::vector<byte_vector> frames() {
  std::vector<byte_vector> all{
    noise(1, 4096),
    byte_vector(100'000),
    text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    text(std::string("\x16\x03\x01\x02\x00\x01", 6)),
    header_only(basp::op::client_handshake, 0),
    header_only(basp::op::client_handshake, 0xFFFFFFFF),
    header_only(basp::op::client_handshake, 1 << 20) + noise(2, 1 << 20),
    encode(client_handshake(90)) +
      header_only(basp::op::direct_message, 0xFFFFFFFF),
    encode(client_handshake(91)) +
      header_only(basp::op::direct_message, 1 << 20) + noise(3, 5000),
    encode(client_handshake(92)) + noise(4, 5000),
  };
  uint32_t process = 100;
  for (auto types :
       {"@<>+node_join", "@<>+node_ready", "@<>+node_heartbeat",
        "@<>+link_credit", "@<>+expert_reply", "@<>+@exit", "@<>+@down",
        "@<>+@message", "@<>+nonsense", "@<>+fault_order", "@<>+node_late",
        "@<>+@atom+@strong_actor_ptr", "", "+", "@<>"})
    all.push_back(greeted(types, process++));
  return all;
}

std::vector<std::string> requests() {
  const std::string post = "POST /v1/completions HTTP/1.1\r\nHost: x\r\n";
  auto posted = [&](const std::string& body) {
    return post + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  return {
    std::string(4096, '\0'),
    "\x16\x03\x01",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "FROB / HTTP/1.1\r\n\r\n",
    "GET /../../etc/passwd HTTP/1.1\r\n\r\n",
    "GET /%00%ff%zz HTTP/1.1\r\n\r\n",
    post + "Content-Length: -1\r\n\r\n{}",
    post + "Content-Length: 99999999999999999999\r\n\r\n{}",
    post + "Content-Length: 4000000000\r\n\r\n{}",
    post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    post + "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n{}",
    posted("hello"),
    posted("{\"prompt\": "),
    posted(std::string(100'000, '[')),
    posted(std::string(100'000, '{')),
    posted("{\"prompt\": \"\xff\xfe\"}"),
    posted("{\"prompt\": \"\\ud800\"}"),
    posted("{\"prompt\": \"a\", \"prompt\": [1]}"),
    posted("{\"prompt\": [1e99]}"),
    posted("{\"prompt\": \"a\", \"max_tokens\": 1e300}"),
    posted("{\"prompt\": \"" + std::string(900'000, 'a') + "\"}"),
    posted("{\"prompt\": [" + std::string(200'000, '1') + "]}"),
  };
}

} // namespace

BOOST_AUTO_TEST_SUITE(serve_hostile)

BOOST_AUTO_TEST_CASE(hostile_frames_disturb_neither_head_nor_nodes) {
  serve_process head{{"--workers", "1"}};
  BOOST_REQUIRE(head.wait_for_node("w1", "alive"));
  auto before = head.complete(question);
  BOOST_TEST(before.status == 200U);
  std::vector<raw_socket> left_open;
  for (auto& bytes : frames()) {
    raw_socket attacker{head.actor_port()};
    BOOST_REQUIRE(attacker.connected());
    attacker.send(bytes);
    left_open.push_back(std::move(attacker));
  }
  auto after = head.complete(question);
  BOOST_TEST(after == before);
  BOOST_TEST(after.remote_pairs == before.remote_pairs);
  left_open.clear();
  BOOST_TEST(head.complete(question) == before);
  BOOST_TEST(head.node("w1").at("restarts") == 0);
  BOOST_TEST(head.cluster().at("nodes").size() == 1U);
  BOOST_TEST(head.process().err().find("Sanitizer") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(hostile_requests_are_answered_or_closed) {
  serve_process head;
  auto before = head.complete(question);
  BOOST_TEST(before.status == 200U);
  std::vector<raw_socket> left_open;
  for (auto& bytes : requests()) {
    raw_socket attacker{head.http_port()};
    BOOST_REQUIRE(attacker.connected());
    attacker.send(text(bytes));
    left_open.push_back(std::move(attacker));
    // The same, cut off in the middle.
    raw_socket leaving{head.http_port()};
    leaving.send(text(bytes.substr(0, bytes.size() / 2)));
  }
  BOOST_TEST(head.complete(question) == before);
  left_open.clear();
  BOOST_TEST(head.stream(question) == before);
  BOOST_TEST(head.process().err().find("Sanitizer") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
