#include "actors/supervision/restart_decision.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// A number in [0, 1) for each counter: SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", 2014).
double draw_of(uint64_t counter) {
  auto x = (counter + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1.0p-53;
}

} // namespace

duration restart_backoff::delay(size_t streak, double draw) const {
  auto result = min;
  for (size_t i = 1; i < streak && result < max; ++i)
    result *= 2;
  auto scale = 1 + jitter * (2 * draw - 1);
  return std::chrono::duration_cast<duration>(std::min(result, max) * scale);
}

restart_policy::restart_policy(options x) : options_(x), intensity_(x.limit) {
  // nop
}

restart_decision restart_policy::ended(time_point now, child_end how) {
  using action = restart_decision::action;
  auto again =
    options_.type == restart_type::permanent ||
    (options_.type == restart_type::transient && how == child_end::failure);
  if (!again)
    return {action::forget, {}};
  if (!intensity_.allow(now))
    return {action::escalate, {}};
  auto draw = draw_of(options_.seed + draws_++);
  return {action::restart, options_.backoff.delay(intensity_.recent(), draw)};
}

} // namespace troupe
