#include "actors/membership/failure_detector.hpp"

namespace troupe {

std::string_view to_string(node_state x) {
  switch (x) {
  case node_state::joining:
    return "joining";
  case node_state::alive:
    return "alive";
  case node_state::suspect:
    return "suspect";
  case node_state::dead:
    return "dead";
  }
  return "unknown";
}

failure_detector::failure_detector(options x, time_point joined)
  : options_(x), last_heartbeat_(joined) {
  // nop
}

void failure_detector::heartbeat(time_point now) {
  last_heartbeat_ = now;
}

void failure_detector::missed_deadline(time_point now) {
  missed_at_ = now;
}

void failure_detector::connection_lost() {
  lost_ = true;
}

node_state failure_detector::state(time_point now) const {
  auto silence = now - last_heartbeat_;
  if (lost_ || silence > options_.dead_after)
    return node_state::dead;
  // A frozen node has sent a heartbeat just before: only later ones count.
  auto on_probation = missed_at_ && (now < *missed_at_ + options_.probation ||
                                     last_heartbeat_ <= *missed_at_);
  if (silence > options_.suspect_after || on_probation)
    return node_state::suspect;
  return node_state::alive;
}

} // namespace troupe
