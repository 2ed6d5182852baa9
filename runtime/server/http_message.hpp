// Which route a request asks for, and how a response is written.
#pragma once

#include "runtime/server/openai_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// What the server can do. `label` names it in metrics.
enum class route : uint8_t {
  completions,
  models,
  health,
  ready,
  metrics,
  cluster,
  none, ///< Unknown path, or a method it does not allow.
};

/// Returns the metrics label, e.g. "/v1/completions"; "other" for none.
std::string_view label(route x);

/// The outcome of matching a request line.
struct route_match {
  route to = route::none;
  bool head_only = false; ///< HEAD: the same answer without its body.
  unsigned status = 200;  ///< 404 or 405 when `to` is none.
  std::string_view allow; ///< With 405: the methods allowed.
};

/// Matches a method and a request target (the query string is ignored).
route_match match_route(std::string_view method, std::string_view target);

/// What the response must know about the connection.
struct reply_framing {
  unsigned version = 11; ///< 10 or 11.
  bool keep_alive = true;
  bool head_only = false;
};

/// A complete response.
struct http_reply {
  unsigned status = 200;
  std::string_view content_type = "application/json";
  std::string body;
  std::string extra_headers; ///< Whole lines, each ended by CRLF.
};

/// Returns an error response with its JSON body.
http_reply error_reply(const api_error& x);

/// Returns the bytes of `x`, with Content-Length.
std::string render(const http_reply& x, const reply_framing& framing);

/// Returns the head of a response with an event stream as body: chunked in
/// HTTP/1.1, ended by closing in HTTP/1.0.
std::string render_stream_head(const reply_framing& framing);

} // namespace troupe
