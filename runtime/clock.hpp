// Time is passed in, never read, by everything that decides something.
#pragma once

#include <chrono>

namespace troupe {

/// The clock of deadlines, restarts and spans. Pure code takes a `time_point`
/// as a parameter; only actors and commands call `steady::now()`.
using steady = std::chrono::steady_clock;
using time_point = steady::time_point;
using duration = steady::duration;

} // namespace troupe
