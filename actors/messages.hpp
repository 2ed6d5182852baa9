// Every message that crosses processes, and its layout on the wire. The order
// of the fields is the wire format: change it only with `protocol_version`
// (actors/transport/hello.hpp). docs/protocol.md shows who sends what when.
//
// Two rules for those who receive from outside: an undecodable message arrives
// as a value-initialised one or not at all, and nothing in it may be trusted
// before it was compared with the model (actors/expert/batch_check.hpp).
#pragma once

#include "actors/transport/wire_tensor.hpp"
#include "runtime/trace/trace_context.hpp"

#include <caf/actor_control_block.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, trace_context& x) {
  return f(x.trace, x.span);
}

// -- experts: DISPATCHER <-> EXPERT SHARD, FALLBACK ---------------------------

/// The version of `batch_header` and what follows from it.
inline constexpr uint16_t batch_format = 2;

/// What identifies a batch and says how to read it.
struct batch_header {
  uint16_t format = batch_format;
  trace_context trace;
  uint64_t head_incarnation = 0;
  uint64_t node_incarnation = 0; ///< Of the receiver.
  uint64_t batch = 0;            ///< Unique in the head process.
  uint64_t pass = 0;
  uint32_t attempt = 0;     ///< 0, and one more for each rerouting.
  uint64_t map_version = 0; ///< Of the shard map that chose the destination.
  uint32_t layer = 0;
  uint32_t rows = 0;      ///< Rows of the batch, each sent once.
  uint32_t pairs = 0;     ///< (row, expert) pairs.
  uint8_t row_type = 0;   ///< kernels::dtype of the rows.
  uint8_t reply_type = 0; ///< kernels::dtype the outputs shall have.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, batch_header& x) {
  return f(x.format, x.trace, x.head_incarnation, x.node_incarnation, x.batch,
           x.pass, x.attempt, x.map_version, x.layer, x.rows, x.pairs,
           x.row_type, x.reply_type);
}

/// The work for one destination. Rows beyond those of this message follow as
/// `expert_rows`, so that no frame exceeds `piece_bytes`.
struct expert_batch {
  batch_header header;
  shared_bytes pairs; ///< expert_pair[header.pairs]
  shared_bytes rows;  ///< The first rows; a multiple of the row's size.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, expert_batch& x) {
  return f(x.header, x.pairs, x.rows);
}

/// Further rows of an `expert_batch`, from row `first` on.
struct expert_rows_piece {
  uint64_t batch = 0;
  uint32_t first = 0;
  shared_bytes rows;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, expert_rows_piece& x) {
  return f(x.batch, x.first, x.rows);
}

/// Outputs of the pairs [first, first + outputs / vector size) of a batch, or
/// why there are none. A large reply comes in several pieces, in any order.
struct expert_reply {
  uint64_t batch = 0;
  uint64_t node_incarnation = 0;
  uint32_t layer = 0;
  uint32_t first = 0;
  shared_bytes outputs;    ///< [n, hidden] in the reply type.
  uint64_t queue_ns = 0;   ///< From arrival to the start of the computation.
  uint64_t compute_ns = 0; ///< Time of the computation.
  uint8_t failure = 0;     ///< An `ec`; 0: none.
  std::string message;     ///< Of the failure.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, expert_reply& x) {
  return f(x.batch, x.node_incarnation, x.layer, x.first, x.outputs, x.queue_ns,
           x.compute_ns, x.failure, x.message);
}

// -- membership: MEMBERSHIP <-> NODE ------------------------------------------

/// "I am here." From a NODE that has connected; the answer is `node_welcome` or
/// `node_refused`.
struct node_join {
  shared_bytes hello; ///< actors/transport/hello.hpp
  caf::strong_actor_ptr node;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_join& x) {
  return f(x.hello, x.node);
}

/// "You belong to the cluster", with the head's own hello to be checked.
struct node_welcome {
  shared_bytes hello;
  uint32_t id = 0;
  uint64_t incarnation = 0;  ///< The node's, as the head will write it.
  uint64_t heartbeat_ns = 0; ///< Send a heartbeat that often.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_welcome& x) {
  return f(x.hello, x.id, x.incarnation, x.heartbeat_ns);
}

/// "You do not." The message is for the node's operator.
struct node_refused {
  uint8_t code = 0; ///< An `ec`.
  std::string message;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_refused& x) {
  return f(x.code, x.message);
}

/// The experts the node shall hold under this map: for each MoE layer a bit per
/// expert. Answered by `node_ready` when all of them can be computed.
struct node_assignment {
  uint64_t map_version = 0;
  uint32_t layers = 0;  ///< Rows of `holds`; the model's MoE layers in order.
  uint32_t experts = 0; ///< Columns of `holds`.
  shared_bytes holds;   ///< uint8_t[layers, experts], 0 or 1.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_assignment& x) {
  return f(x.map_version, x.layers, x.experts, x.holds);
}

/// "I serve the experts of `map_version`": the node's EXPERT SHARDs, one per
/// MoE layer in order. Sent again whenever a shard was restarted.
struct node_ready {
  uint32_t id = 0;
  uint64_t incarnation = 0;
  uint64_t map_version = 0;
  std::vector<caf::strong_actor_ptr> shards;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_ready& x) {
  return f(x.id, x.incarnation, x.map_version, x.shards);
}

/// "My actors run."
struct node_heartbeat {
  uint32_t id = 0;
  uint64_t incarnation = 0;
  uint64_t expert_bytes = 0;   ///< Memory of the experts held.
  uint64_t bytes_read = 0;     ///< Of the checkpoint, since its start.
  uint64_t resident_bytes = 0; ///< Of the process, when it had loaded last;
  uint64_t huge_bytes = 0;     ///< of these in huge pages.
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_heartbeat& x) {
  return f(x.id, x.incarnation, x.expert_bytes, x.bytes_read, x.resident_bytes,
           x.huge_bytes);
}

/// "I have taken `bytes` of what you sent": see actors/peer_link.hpp.
struct link_credit {
  uint32_t id = 0; ///< The node's, whichever direction the credit goes.
  uint64_t incarnation = 0;
  uint64_t bytes = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_credit& x) {
  return f(x.id, x.incarnation, x.bytes);
}

/// A drill: the node shall do this to itself. Only "stop" (SIGSTOP) and "kill".
struct node_fault {
  std::string action;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_fault& x) {
  return f(x.action);
}

} // namespace troupe
