// Everything a DISPATCHER decides, without CAF, clock or socket: events with
// their times go in, effects come out. One object serves one MoE layer.
//
//   start --> batches out --> replies in (any order, in pieces) --> done
//               |                 ^
//               |  late, lost,    | another attempt: another replica, or
//               +--failed --------+ FALLBACK
//
// Invariants: each pair of a pass is filled exactly once; a reply counts only
// for the batch, incarnation and layer it names while that batch is open; a
// pass ends with exactly one `done`.
#pragma once

#include "actors/dispatch/batch_deadline.hpp"
#include "actors/dispatch/dispatch_plan.hpp"
#include "actors/local_messages.hpp"
#include "actors/messages.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What is fixed for one layer of one head process.
struct dispatch_options {
  layer_index layer;
  uint32_t hidden_size = 0;
  kernels::dtype reply_type = kernels::dtype::bf16;
  local_fallback fallback = local_fallback::yes;
  batch_deadline::options deadline;
  /// FALLBACK may have to read experts from disk first.
  duration local_deadline = std::chrono::seconds(120);
  uint64_t head_incarnation = 0;
  /// What FALLBACK's batches carry as receiver; no node knows it, so that none
  /// can answer in FALLBACK's place.
  uint64_t local_incarnation = 0;
};

/// A batch on its way to a destination, before it is cut into frames.
struct outgoing_batch {
  node_id destination = local_node;
  expert_batch batch; ///< With all rows.
};

/// How one batch ended: for statistics, metrics and the timeline.
struct batch_outcome {
  enum class kind : uint8_t { answered, late, lost, refused };

  kind how = kind::answered;
  batch_id batch;
  pass_id pass;
  trace_context trace;
  node_id node = local_node;
  pair_route route = pair_route::local;
  uint32_t attempt = 0;
  uint32_t rows = 0;
  uint32_t pairs = 0;
  time_point sent;
  time_point ended;
  duration queue_wait{}; ///< As reported by who computed it.
  duration compute{};
  std::string message; ///< Of a refusal.
};

/// What the actor has to do now, in this order.
struct dispatch_effects {
  std::vector<node_late> late; ///< Tell MEMBERSHIP; publish as suspect first.
  std::vector<outgoing_batch> send;
  std::vector<batch_outcome> outcomes;
  std::vector<moe_done> done;
};

class dispatch_core {
public:
  /// `ids` is the process-wide source of batch ids; it outlives this object.
  dispatch_core(dispatch_options options, std::atomic<uint64_t>& ids);

  /// Plans a layer of a pass. A pass that is known already starts again.
  dispatch_effects start(time_point now, const dispatch_request& x,
                         const cluster_snapshot& view);

  /// Takes a reply. Late, foreign and contradictory ones are dropped (and the
  /// latter end their batch).
  dispatch_effects reply(time_point now, const expert_reply& x,
                         const cluster_snapshot& view);

  /// Ends the batches of a node whose incarnation is gone. Call it after the
  /// state in `view` has changed.
  dispatch_effects node_lost(time_point now, const struct node_lost& x,
                             const cluster_snapshot& view);

  /// Ends the batches past their deadline. A node that is late does not serve
  /// for the rest of this call, whatever `view` says.
  dispatch_effects expire(time_point now, const cluster_snapshot& view);

  /// The earliest deadline of an open batch.
  std::optional<time_point> next_deadline() const;

  size_t open_batches() const {
    return batches_.size();
  }
  uint64_t dropped_replies() const {
    return dropped_replies_;
  }

private:
  struct open_pass {
    std::shared_ptr<const moe_request> request;
    std::shared_ptr<const routing> choice;
    trace_context trace;
    std::shared_ptr<moe_response> response;
    std::vector<row_pairs> rows;
    size_t open_pairs = 0;
    uint32_t attempts = 0;
    uint32_t failures = 0;
    time_point started;
    time_point local_done; ///< Last reply of FALLBACK, or `started`.
  };
  struct open_batch {
    pass_id pass;
    uint64_t incarnation = 0;
    uint32_t attempt = 0;
    planned_batch plan;
    std::vector<bool> filled; ///< [pairs]
    size_t open_pairs = 0;
    time_point sent;
    time_point deadline;
  };
  using batch_map = std::map<batch_id, open_batch>;

  void send(time_point now, pass_id pass, planned_batch plan,
            const cluster_snapshot& view, dispatch_effects& out);
  expert_batch make_batch(batch_id id, const open_batch& x,
                          const cluster_snapshot& view) const;
  void distrust(const open_batch& batch, cluster_snapshot& seen,
                dispatch_effects& out) const;
  void fill(open_batch& batch, const expert_reply& x);
  bool fits(const open_batch& batch, const expert_reply& x) const;
  void close(time_point now, batch_map::iterator batch, const expert_reply& x,
             dispatch_effects& out);
  void give_up(time_point now, batch_map::iterator batch,
               batch_outcome::kind how, std::string message,
               dispatch_effects& out);
  void reroute(time_point now, pass_id pass, std::vector<open_pair> pairs,
               const cluster_snapshot& view, dispatch_effects& out);
  void finish(time_point now, pass_id pass, dispatch_effects& out);
  void fail_pass(pass_id pass, error why, dispatch_effects& out);
  void forget_batches(pass_id pass);
  batch_outcome outcome(time_point now, batch_map::iterator batch,
                        batch_outcome::kind how) const;
  size_t queued_pairs(node_id node) const;
  size_t vector_bytes() const;

  dispatch_options options_;
  std::atomic<uint64_t>& ids_;
  std::map<pass_id, open_pass> passes_;
  batch_map batches_;
  std::map<node_id, batch_deadline> deadlines_;
  std::vector<std::pair<pass_id, std::vector<open_pair>>> to_reroute_;
  uint64_t dropped_replies_ = 0;
};

} // namespace troupe
