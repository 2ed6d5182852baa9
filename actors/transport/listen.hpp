// Publishes the head's actor on a guarded port. Only the head listens.
#pragma once

#include "actors/transport/cluster_system.hpp"
#include "runtime/error.hpp"

#include <caf/actor_control_block.hpp>

#include <cstdint>
#include <string>

namespace troupe {

enum class exposure : uint8_t {
  loopback_only, ///< Refuse addresses that other machines can reach.
  insecure,      ///< The user has said that the network is trusted.
};

struct listen_options {
  std::string address = "127.0.0.1"; ///< Numeric IPv4 or IPv6, or "localhost".
  uint16_t port = 7600;              ///< 0: any free port.
  exposure expose = exposure::loopback_only;
};

/// Listens and hands out `whom` to everyone who connects. Say first, in
/// `transport()->from_nodes`, what nodes may send to it. Returns the port.
/// Blocks for the time of a few system calls; not for actors.
result<uint16_t> listen(cluster_system& cluster,
                        const caf::strong_actor_ptr& whom,
                        const listen_options& options);

} // namespace troupe
