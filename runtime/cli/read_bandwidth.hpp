// How fast this machine reads memory: what decoding is limited by.
#pragma once

#include "kernels/lanes.hpp"

#include <functional>

namespace troupe::cli {

/// Bytes per second of streaming reads by all lanes over a buffer far larger
/// than the caches; the best of a few rounds. Throws std::bad_alloc.
double measure_read_bandwidth(kernels::lanes& pool);

/// Runs `job` on a lane and waits for it: with n lanes, n threads compute.
void run_on_lane(kernels::lanes& pool, const std::function<void()>& job);

} // namespace troupe::cli
