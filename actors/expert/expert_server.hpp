// What EXPERT SHARD and FALLBACK have in common: takes batches, waits for all
// their rows, computes them on the lanes and answers. The actors around it only
// pass messages on.
#pragma once

#include "actors/expert/batch_check.hpp"
#include "actors/expert/expert_store.hpp"
#include "actors/peer_link.hpp"
#include "kernels/lanes.hpp"
#include "runtime/clock.hpp"

#include <caf/actor_control_block.hpp>

#include <deque>
#include <memory>

namespace troupe {

/// What a server computes with; shared by its jobs, which may outlive it.
struct expert_services {
  batch_limits limits;
  std::shared_ptr<expert_store> store;
  kernels::lanes* lanes = nullptr; ///< Outlives every actor.
  /// Towards the head; null in the head itself, where replies need no cutting.
  std::shared_ptr<peer_link> uplink;
  /// Makes every pair slower, for drills (`--fault slow`).
  duration delay_per_pair{};
};

class expert_server {
public:
  /// Batches whose rows are incomplete; more and the oldest is refused.
  static constexpr size_t incomplete_max = 16;

  explicit expert_server(std::shared_ptr<const expert_services> services);

  /// Takes a batch; the answer goes to `from`.
  void batch(const expert_batch& x, const caf::strong_actor_ptr& from,
             time_point now);

  /// Takes more rows of a batch.
  void rows(const expert_rows_piece& x, time_point now);

private:
  struct incoming {
    batch_header header;
    shared_bytes pairs;
    std::shared_ptr<std::byte[]> rows; ///< [header.rows, hidden]
    uint32_t rows_seen = 0;
    caf::strong_actor_ptr from;
  };

  void compute(const batch_header& header, shared_bytes pairs,
               shared_bytes rows, const caf::strong_actor_ptr& from,
               time_point now);
  void refuse(const batch_header& header, const caf::strong_actor_ptr& to,
              const error& why);

  std::shared_ptr<const expert_services> services_;
  std::deque<incoming> incomplete_;
};

} // namespace troupe
