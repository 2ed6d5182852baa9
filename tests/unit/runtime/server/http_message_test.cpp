#include "runtime/server/http_message.hpp"
#include "runtime/server/sse.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace troupe;

namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(http_message_suite)

BOOST_AUTO_TEST_CASE(routes_are_matched_by_method_and_path) {
  BOOST_TEST((match_route("POST", "/v1/completions").to == route::completions));
  BOOST_TEST((match_route("GET", "/v1/models").to == route::models));
  BOOST_TEST((match_route("GET", "/health?x=1").to == route::health));
  BOOST_TEST((match_route("GET", "/ready").to == route::ready));
  BOOST_TEST((match_route("GET", "/metrics").to == route::metrics));
  BOOST_TEST((match_route("GET", "/cluster").to == route::cluster));
  auto head = match_route("HEAD", "/health");
  BOOST_TEST((head.to == route::health));
  BOOST_TEST(head.head_only);
}

BOOST_AUTO_TEST_CASE(unknown_paths_and_methods_are_told_apart) {
  for (auto path : {"", "/", "/healthz", "/health/", "*", "/v1/completions/x"})
    BOOST_TEST(match_route("GET", path).status == 404u);
  auto get = match_route("GET", "/v1/completions");
  BOOST_TEST((get.to == route::none));
  BOOST_TEST(get.status == 405u);
  BOOST_TEST(get.allow == "POST");
  BOOST_TEST(match_route("DELETE", "/cluster").allow == "GET, HEAD");
}

BOOST_AUTO_TEST_CASE(a_reply_has_a_length_and_says_if_it_closes) {
  http_reply reply;
  reply.body = "hello";
  auto open = render(reply, {11, true, false});
  BOOST_TEST(open.starts_with("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(holds(open, "\r\nContent-Length: 5\r\n"));
  BOOST_TEST(holds(open, "\r\nConnection: keep-alive\r\n"));
  BOOST_TEST(open.ends_with("\r\n\r\nhello"));
  auto closing = render(reply, {10, false, false});
  BOOST_TEST(closing.starts_with("HTTP/1.0 200 OK\r\n"));
  BOOST_TEST(holds(closing, "\r\nConnection: close\r\n"));
}

BOOST_AUTO_TEST_CASE(a_reply_to_head_keeps_the_length_and_drops_the_body) {
  http_reply reply;
  reply.body = "hello";
  auto got = render(reply, {11, true, true});
  BOOST_TEST(holds(got, "\r\nContent-Length: 5\r\n"));
  BOOST_TEST(got.ends_with("\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(a_refusal_for_now_says_when_to_come_back) {
  BOOST_TEST(holds(render(error_reply(unavailable("full", "c")), {}),
                   "\r\nRetry-After: 1\r\n"));
}

BOOST_AUTO_TEST_CASE(events_are_framed_line_by_line) {
  BOOST_TEST(sse_event("{}") == "data: {}\n\n");
  BOOST_TEST(sse_event("a\nb") == "data: a\ndata: b\n\n");
  BOOST_TEST(sse_event("") == "data: \n\n");
  BOOST_TEST(sse_end() == "data: [DONE]\n\n");
}

BOOST_AUTO_TEST_CASE(chunks_carry_their_length_in_hex) {
  BOOST_TEST(http_chunk("hello") == "5\r\nhello\r\n");
  BOOST_TEST(http_chunk(std::string(255, 'x')).starts_with("ff\r\n"));
  BOOST_TEST(http_chunk("") == "");
  BOOST_TEST(http_last_chunk() == "0\r\n\r\n");
}

BOOST_AUTO_TEST_SUITE_END()
