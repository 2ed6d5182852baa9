// Where a server listens: reading the option, and who may reach it.
#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// Which addresses may be listened on.
enum class listen_scope : uint8_t {
  loopback_only,
  any_address, ///< The user asked for it: there is no authentication.
};

/// A host and a port as written.
struct listen_address {
  std::string host;
  uint16_t port = 0;
};

/// Splits "HOST:PORT" or "[IPV6]:PORT".
/// Fails with ec::invalid_argument naming what is wrong.
result<listen_address> parse_listen(const std::string& text);

/// Returns `host` as a numeric address ("localhost" becomes 127.0.0.1).
/// Fails with ec::invalid_argument if it is none, or one the scope forbids.
result<std::string> checked_address(const std::string& host,
                                    listen_scope scope);

} // namespace troupe
