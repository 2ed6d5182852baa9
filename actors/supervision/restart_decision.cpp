#include "actors/supervision/restart_decision.hpp"

#include <algorithm>

namespace troupe {

duration restart_backoff::delay(size_t streak) const {
  auto result = min;
  for (size_t i = 1; i < streak && result < max; ++i)
    result *= 2;
  return std::min(result, max);
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
  return {action::restart, options_.backoff.delay(intensity_.recent())};
}

} // namespace troupe
