// A host and a port, as written "127.0.0.1:7600" or "[::1]:7600".
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

struct endpoint {
  std::string host;
  uint16_t port = 0; ///< 0 asks the operating system for a free port.

  bool operator==(const endpoint&) const = default;
};

/// Parses `text`. Fails with invalid_argument and an example.
result<endpoint> parse_endpoint(std::string_view text);

std::string to_string(const endpoint& x);

/// True for 127.0.0.0/8, ::1 and "localhost": the only hosts that are accepted
/// without TLS unless `insecure = true`.
bool is_loopback(const endpoint& x);

} // namespace troupe
