// The computation of one batch, as it runs on a lane: experts are taken from
// the store in as many at a time as it can hold, and finished outputs leave
// while the next ones are computed.
#pragma once

#include "actors/expert/expert_server.hpp"

namespace troupe {

struct expert_job {
  std::shared_ptr<const expert_services> services;
  batch_header header;
  shared_bytes pairs; ///< expert_pair[header.pairs], checked
  shared_bytes rows;  ///< [header.rows, hidden]
  caf::strong_actor_ptr from;
  time_point arrived;

  /// Computes and sends all replies; never throws.
  void run();
};

/// The answer to a batch that cannot be computed.
expert_reply make_refusal(const batch_header& header, const error& why);

/// Sends `x` to the actor that asked, over the uplink if there is one.
void send_reply(const expert_services& services,
                const caf::strong_actor_ptr& to, expert_reply x);

} // namespace troupe
