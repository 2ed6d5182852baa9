// A small HTTP client for commands that talk to a running head: one GET, one
// deadline for everything, a bound on the answer.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

/// "http://HOST[:PORT][/]" taken apart.
struct http_origin {
  std::string host; ///< Without the brackets of an IPv6 address.
  uint16_t port = 80;
};

/// Fails with invalid_argument naming what is wrong.
result<http_origin> parse_origin(const std::string& url);

struct http_get_options {
  duration deadline = std::chrono::seconds(5);
  size_t body_bytes_max = size_t{64} << 20;
};

struct http_reply {
  unsigned status = 0;
  std::string body;
};

/// Fetches `path` from `url`. Fails with invalid_argument (URL), io (nobody
/// listens, connection lost, no HTTP) or deadline_exceeded.
result<http_reply> http_get(const std::string& url, const std::string& path,
                            http_get_options options = {});

} // namespace troupe
