// Whether a node is alive, late or gone. Pure: events with their times go in,
// a state comes out. The rules, in order:
//
//   connection lost                      -> dead
//   no heartbeat for dead_after          -> dead
//   no heartbeat for suspect_after       -> suspect
//   a batch missed its deadline          -> suspect, until `probation` has
//                                           passed and a heartbeat came since
//   otherwise                            -> alive
//
// A dead node stays dead: it comes back as a new incarnation, with a new
// detector. Heartbeats are the application's: they prove that the node's
// actors run, not only its I/O thread.
#pragma once

#include "runtime/clock.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// What the head thinks of a node.
enum class node_state : uint8_t {
  joining, ///< Said hello; its experts are not loaded yet.
  alive,   ///< Serves its experts.
  suspect, ///< Late: gets no new pairs until it proves itself.
  dead,    ///< Gone; its pairs go elsewhere until a new incarnation joins.
};

/// Returns the state's name as shown by `troupe status`.
std::string_view to_string(node_state x);

class failure_detector {
public:
  struct options {
    duration suspect_after = std::chrono::milliseconds(800);
    duration dead_after = std::chrono::milliseconds(2000);
    /// How long a node that missed a batch deadline gets no pairs.
    duration probation = std::chrono::milliseconds(1000);
  };

  failure_detector(options x, time_point joined);

  void heartbeat(time_point now);
  void missed_deadline(time_point now);
  void connection_lost();

  /// Whether the connection is lost (and not only silent).
  bool lost() const {
    return lost_;
  }

  /// @pre `now` is not earlier than that of any event so far.
  node_state state(time_point now) const;

private:
  options options_;
  time_point last_heartbeat_;
  std::optional<time_point> missed_at_;
  bool lost_ = false;
};

} // namespace troupe
