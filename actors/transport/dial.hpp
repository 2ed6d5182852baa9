// A TCP connect with a deadline. Blocks; runs in a helper thread.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/error.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// Resolves `host` and tries its addresses in turn until one accepts or
/// `deadline` has passed. (The name lookup itself cannot be interrupted.)
/// Returns a connected non-blocking socket, which the caller owns.
result<int> dial(const std::string& host, uint16_t port, time_point deadline);

} // namespace troupe
