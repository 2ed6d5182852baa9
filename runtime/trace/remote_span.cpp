#include "runtime/trace/remote_span.hpp"

#include "runtime/assert.hpp"

#include <algorithm>

namespace troupe {

remote_times place_remote(const exchange_window& window,
                          const remote_durations& measured) {
  TROUPE_ASSERT(window.sent <= window.received);
  auto available = window.received - window.sent;
  auto compute = std::clamp(measured.compute, duration{}, available);
  auto queue_wait =
    std::clamp(measured.queue_wait, duration{}, available - compute);
  auto one_way = (available - compute - queue_wait) / 2;
  remote_times result;
  result.arrived = window.sent + one_way;
  result.started = result.arrived + queue_wait;
  result.replied = result.started + compute;
  return result;
}

} // namespace troupe
