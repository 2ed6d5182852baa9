#include "actors/supervision/restart_intensity.hpp"

namespace troupe {

restart_intensity::restart_intensity(options x) : options_(x) {
  // nop
}

bool restart_intensity::allow(time_point now) {
  failures_.push_back(now);
  while (now - failures_.front() > options_.period)
    failures_.pop_front();
  auto allowed = failures_.size() <= options_.intensity;
  // Bounds the history when the caller goes on after a refusal.
  while (failures_.size() > options_.intensity + 1)
    failures_.pop_front();
  return allowed;
}

} // namespace troupe
