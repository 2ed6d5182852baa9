// The engine as the HTTP server sees it. The server calls the service from its
// one thread; the service answers through a sink, from any thread.
//
//   server                       service
//     |-- start(request, sink) ---->|      refused: error, the sink stays
//     unused
//     |<-- sink.piece ... ----------|      any number of times, in order
//     |<-- sink.done | sink.failed -|      exactly once, last
//     |-- cancel(handle) ---------->|      client left or is too slow
//
// Exactly-once delivery of tokens through failures is the service's job; the
// server writes each piece as it comes.
#pragma once

#include "runtime/engine/request_ledger.hpp"
#include "runtime/engine/sampling_params.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// A validated request for one continuation.
struct completion_request {
  /// Text to tokenise, or token ids to use as they are.
  std::variant<std::string, std::vector<token_id>> prompt;
  sampling_params params;
};

/// A few tokens and the text they completed.
struct completion_piece {
  std::string text; ///< Whole UTF-8 characters; may be empty.
  std::vector<token_id> ids;
};

/// Where the (token, expert) pairs of a request were computed, and what it
/// waited.
struct completion_stats {
  uint64_t remote_pairs = 0;
  uint64_t local_pairs = 0;
  uint64_t rerouted_pairs = 0; ///< Remote ones that FALLBACK had to compute.
  uint64_t failures = 0;       ///< Batches lost or late.
  double prefill_seconds = 0;
  double decode_seconds = 0;
  double remote_wait_seconds = 0;
};

/// The end of a completion.
struct completion_end {
  finish_reason reason = finish_reason::stop; ///< stop or length.
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0;
  completion_stats stats;
};

/// Receives what a request produces. Calls may come from any thread, never two
/// at once, and return quickly; after the server lost interest they do nothing.
class completion_sink {
public:
  virtual ~completion_sink() = default;

  virtual void piece(completion_piece x) = 0;
  virtual void done(completion_end x) = 0;
  virtual void failed(error x) = 0;
};

/// Names one running request to the service that started it.
using request_handle = strong_id<struct request_handle_tag, uint64_t>;

/// What requests are checked against before the service sees them.
struct completion_limits {
  std::string model_name;      ///< As listed by /v1/models.
  uint32_t vocab_size = 0;     ///< Token ids are below it.
  uint32_t context_tokens = 0; ///< Most tokens of prompt and answer together.
  sampling_params defaults;    ///< For fields the request leaves out.
};

/// Generates text for the HTTP server. All calls come from the server's thread
/// and must not block.
class completion_service {
public:
  virtual ~completion_service() = default;

  /// Returns what the server validates against; constant while it runs.
  virtual const completion_limits& limits() const = 0;

  /// Accepts `request`, or refuses it: ec::overloaded when a queue is full,
  /// ec::invalid_argument when the prompt does not fit. May call `sink` before
  /// it returns.
  virtual result<request_handle>
  start(completion_request request, std::shared_ptr<completion_sink> sink) = 0;

  /// Ends a request whose answer nobody reads any more. Unknown and finished
  /// handles are ignored.
  virtual void cancel(request_handle handle) = 0;

  /// Returns why no request can be served now; nothing when ready.
  virtual std::optional<std::string> not_ready() const = 0;

  /// Returns the document of GET /cluster: nodes, actors, map.
  virtual std::string cluster_json() const = 0;

  /// Called before /metrics is rendered: sets gauges such as node states.
  virtual void before_metrics() {
    // nop
  }
};

} // namespace troupe
