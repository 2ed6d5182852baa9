#include "runtime/server/http_message.hpp"

#include "runtime/server/openai_api.hpp"

#include <array>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

namespace troupe {

namespace {

struct route_row {
  route to;
  std::string_view path;
  bool is_post;
};

constexpr std::array<route_row, 6> routes{{
  {route::completions, "/v1/completions", true},
  {route::models, "/v1/models", false},
  {route::health, "/health", false},
  {route::ready, "/ready", false},
  {route::metrics, "/metrics", false},
  {route::cluster, "/cluster", false},
}};

std::string status_line(unsigned status, unsigned version) {
  namespace http = boost::beast::http;
  auto reason = http::obsolete_reason(http::int_to_status(status));
  return fmt::format("HTTP/1.{} {} {}\r\nServer: troupe\r\n",
                     version == 10 ? 0 : 1, status,
                     std::string_view{reason.data(), reason.size()});
}

std::string_view connection(const reply_framing& framing) {
  // HTTP/1.0 closes unless told otherwise, HTTP/1.1 the other way round; we say
  // it always, which both allow.
  return framing.keep_alive ? "keep-alive" : "close";
}

} // namespace

std::string_view label(route x) {
  for (const auto& row : routes)
    if (row.to == x)
      return row.path;
  return "other";
}

route_match match_route(std::string_view method, std::string_view target) {
  auto path = target.substr(0, target.find('?'));
  route_match result;
  for (const auto& row : routes) {
    if (row.path != path)
      continue;
    bool head = method == "HEAD";
    if (row.is_post ? method == "POST" : method == "GET" || head) {
      result.to = row.to;
      result.head_only = head;
      return result;
    }
    result.status = 405;
    result.allow = row.is_post ? "POST" : "GET, HEAD";
    result.head_only = head;
    return result;
  }
  result.status = 404;
  result.head_only = method == "HEAD";
  return result;
}

http_reply error_reply(const api_error& x) {
  http_reply result;
  result.status = x.status;
  result.body = error_document(x) + "\n";
  if (x.status == 503)
    result.extra_headers = "Retry-After: 1\r\n";
  return result;
}

std::string render(const http_reply& x, const reply_framing& framing) {
  auto result = status_line(x.status, framing.version);
  result += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n"
                        "Connection: {}\r\n{}\r\n",
                        x.content_type, x.body.size(), connection(framing),
                        x.extra_headers);
  if (!framing.head_only)
    result += x.body;
  return result;
}

std::string render_stream_head(const reply_framing& framing) {
  auto result = status_line(200, framing.version);
  result += "Content-Type: text/event-stream; charset=utf-8\r\n"
            "Cache-Control: no-cache\r\n";
  if (framing.version != 10)
    result += "Transfer-Encoding: chunked\r\n";
  return result += fmt::format("Connection: {}\r\n\r\n", connection(framing));
}

} // namespace troupe
