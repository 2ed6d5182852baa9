// Puts the work of another machine on the head's clock. Clocks of machines are
// never compared: a reply carries durations, and the head knows when it sent
// the request and when the reply came.
//
//   head  |sent ............................................ received|
//   node        |arrived .. queue wait ..|.. compute ..|replied
//         <-way->                                      <----way----->
//
// The two ways are taken as equally long.
#pragma once

#include "runtime/clock.hpp"

namespace troupe {

/// What the head measured around one exchange.
struct exchange_window {
  time_point sent;
  time_point received; ///< Not before `sent`.
};

/// What the node measured with its own clock and sent inside the reply.
struct remote_durations {
  duration queue_wait{};
  duration compute{};
};

/// The node's times on the head's clock; sent <= arrived <= started <= replied
/// <= received.
struct remote_times {
  time_point arrived;
  time_point started;
  time_point replied;
};

/// Places the node's durations in the middle of the head's window. Durations
/// come from outside: negative ones count as zero, and those too long for the
/// window are cut, the queue wait first.
remote_times place_remote(const exchange_window& window,
                          const remote_durations& measured);

} // namespace troupe
