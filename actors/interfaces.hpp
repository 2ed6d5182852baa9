// The protocol of the system: every actor's handle with the messages it takes.
// All messages are one-way; an answer is a message of its own with the ids of
// the question, so that a lost or late one harms nobody. Who asks keeps a
// deadline. Names in CAPITALS are actors.
#pragma once

#include "actors/local_messages.hpp"
#include "actors/messages.hpp"

#include <caf/replies_to.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace troupe {

/// Runs experts of one MoE layer on one node. FALLBACK speaks the same
/// language, so that DISPATCHER needs no branch.
using expert_shard_actor = caf::typed_actor<
  // A batch; answered to the sender by one or more `expert_reply`.
  caf::reacts_to<expert_batch>,
  // More rows of a batch.
  caf::reacts_to<expert_rows_piece>>;

/// Spreads one MoE layer's pairs over the cluster and brings them back.
using dispatcher_actor = caf::typed_actor<
  // From ROUTER: compute these pairs. Answered to BACKBONE by `moe_done`.
  caf::reacts_to<dispatch_request>,
  // From EXPERT SHARD or FALLBACK.
  caf::reacts_to<expert_reply>,
  // From MEMBERSHIP: what this node was asked will not be answered.
  caf::reacts_to<node_lost>,
  // From itself: look at the deadlines.
  caf::reacts_to<deadline_tick>>;

/// Turns router scores into experts and weights by the family's rule.
using router_actor = caf::typed_actor<
  // From BACKBONE; goes on to the layer's DISPATCHER.
  caf::reacts_to<route_request>>;

/// Runs the sequences: scheduler, forward pass, sampling, ledger.
using backbone_actor = caf::typed_actor<
  // From GATEWAY: the ledger holds a new sequence.
  caf::reacts_to<sequence_opened>,
  // From GATEWAY: nobody wants this sequence any more.
  caf::reacts_to<sequence_cancelled>,
  // From its own job on the lanes: the forward pass has stopped.
  caf::reacts_to<segment_done>,
  // From DISPATCHER: the answer to a MoE layer, or why there is none.
  caf::reacts_to<moe_done>,
  // From SUPERVISOR: an actor on the way was restarted; ask again.
  caf::reacts_to<step_retry>,
  // From itself: look at the step's deadline.
  caf::reacts_to<deadline_tick>>;

/// Knows the nodes: who joined, who lives, who holds what.
using membership_actor = caf::typed_actor<
  // From NODE.
  caf::reacts_to<node_join>, caf::reacts_to<node_ready>,
  caf::reacts_to<node_heartbeat>, caf::reacts_to<link_credit>,
  // From DISPATCHER: a batch missed its deadline.
  caf::reacts_to<node_late>,
  // From the fault plan: let this node do it to itself.
  caf::reacts_to<fault_order>,
  // From itself: look at the heartbeats.
  caf::reacts_to<deadline_tick>>;

/// The node process's own actor: keeps the connection to the head and the
/// node's shards.
using node_actor = caf::typed_actor<
  // From MEMBERSHIP.
  caf::reacts_to<node_welcome>, caf::reacts_to<node_refused>,
  caf::reacts_to<node_assignment>, caf::reacts_to<link_credit>,
  caf::reacts_to<node_fault>,
  // From its own connection attempt.
  caf::reacts_to<connect_outcome>,
  // From its loading job: the experts of an assignment are in memory.
  caf::reacts_to<experts_loaded>,
  // From itself: a shard's backoff is over.
  caf::reacts_to<shard_restart>,
  // From itself: heartbeat, or try to connect again.
  caf::reacts_to<deadline_tick>>;

/// Between those who want text (HTTP, command line) and BACKBONE.
using gateway_actor = caf::typed_actor<
  // Starts a sequence that the ledger has accepted.
  caf::reacts_to<sequence_opened>,
  // Ends one.
  caf::reacts_to<sequence_cancelled>>;

} // namespace troupe
