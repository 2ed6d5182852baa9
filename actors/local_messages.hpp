// Messages that stay inside the process: they share immutable values instead
// of copying them and have no wire format.
#pragma once

#include "actors/transport/connect.hpp"
#include "runtime/cache/mapped_pages.hpp"
#include "runtime/engine/batch.hpp"
#include "runtime/engine/forward_pass.hpp"
#include "runtime/engine/moe_exchange.hpp"
#include "runtime/engine/scheduler.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"
#include "runtime/trace/trace_context.hpp"

#include <caf/allowed_unsafe_message_type.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// BACKBONE -> ROUTER: choose the experts of these rows.
struct route_request {
  std::shared_ptr<const moe_request> request;
  trace_context trace;
};

/// ROUTER -> DISPATCHER: compute the chosen pairs.
struct dispatch_request {
  std::shared_ptr<const moe_request> request;
  std::shared_ptr<const routing> choice;
  trace_context trace;
};

/// Where the pairs of one row were computed.
struct row_pairs {
  uint16_t local = 0;
  uint16_t remote = 0;
  uint16_t rerouted = 0;
};

/// DISPATCHER -> BACKBONE: the outputs of one MoE layer, or why there are none.
struct moe_done {
  pass_id pass;
  layer_index layer;
  std::shared_ptr<const moe_response> response; ///< null: failed
  std::vector<row_pairs> rows;                  ///< [rows]
  duration remote_wait{}; ///< Time that only remote experts were awaited.
  uint32_t failures = 0;  ///< Batches lost, late or refused.
  std::optional<error> failure;
};

/// MEMBERSHIP -> DISPATCHER: this incarnation will not answer any more.
struct node_lost {
  node_id node;
  uint64_t incarnation = 0;
};

/// DISPATCHER -> MEMBERSHIP: a batch of this incarnation missed its deadline.
struct node_late {
  node_id node;
  uint64_t incarnation = 0;
};

/// A fault plan's order to a node that is no child of this process.
struct fault_order {
  std::string node;
  std::string action; ///< "stop", "kill"
};

/// GATEWAY -> BACKBONE: the ledger holds a new sequence.
struct sequence_opened {
  sequence_id id;
};

/// GATEWAY -> BACKBONE: nobody wants this sequence any more.
struct sequence_cancelled {
  sequence_id id;
};

/// What a stretch of the forward pass ended with.
struct segment_end {
  std::shared_ptr<const moe_request> request; ///< Stopped at a MoE layer, or
  std::vector<sampled_token> sampled;         ///< came to the end,
  std::optional<error> failure;               ///< or failed.
  /// Sequences whose logits gave no token; `sampled` has a placeholder.
  std::vector<std::pair<sequence_id, error>> row_failures;
};

/// Lane -> BACKBONE: the forward pass has stopped.
struct segment_done {
  pass_id pass;
  std::shared_ptr<segment_end> end;
};

/// SUPERVISOR -> BACKBONE: an actor between here and the experts is new.
struct step_retry {
  std::string role;
};

/// NODE's loading job -> NODE.
struct experts_loaded {
  uint64_t load = 0; ///< Which job it was.
  std::optional<error> failure;
  std::optional<page_facts> pages; ///< Of the process, afterwards.
};

/// NODE -> itself: start this EXPERT SHARD again, unless the head changed.
struct shard_restart {
  size_t index = 0;
  uint64_t incarnation = 0;
};

/// An actor's own timer.
struct deadline_tick {};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::route_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::dispatch_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::moe_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::node_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::node_late)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::fault_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sequence_opened)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sequence_cancelled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::segment_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::step_retry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::experts_loaded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::shard_restart)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::deadline_tick)
