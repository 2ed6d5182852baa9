// The request ledger: what was promised to whom and how far it got. Owned by
// the process, outside all actors, so that a restarted BACKBONE or GATEWAY can
// continue. Thread-safe. Invariant: a token is recorded before it is emitted,
// and each index of a sequence is recorded once and emitted once, in order.
//
//   open -> append(0) -> append(1) -> ... -> finish -> close
#pragma once

#include "runtime/engine/sampling_params.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// Why a sequence ended.
enum class finish_reason : uint8_t {
  stop,      ///< A stop id or stop string.
  length,    ///< max_tokens or the context is used up.
  cancelled, ///< The client left, or a shutdown.
  failed,    ///< An error; the sink gets it.
};

/// "stop", "length", "cancelled", "error".
std::string_view to_string(finish_reason x);

/// Where a sequence's tokens go (a terminal, an HTTP stream, ...). Called under
/// the entry's lock, by one thread at a time and in order: must return soon and
/// must not call the ledger.
class token_sink {
public:
  virtual ~token_sink() = default;

  /// Takes the generated token number `index`, from 0.
  virtual void token(sequence_id id, uint32_t index, token_id token) = 0;

  /// The last call. `why` is set when `reason` is `failed`.
  virtual void finished(sequence_id id, finish_reason reason,
                        const std::optional<error>& why) = 0;
};

/// A request as the engine sees it.
struct generation_request {
  std::vector<token_id> prompt; ///< Not empty.
  sampling_params params;
};

/// A copy of one entry.
struct ledger_entry {
  sequence_id id;
  generation_request request;
  std::vector<token_id> emitted; ///< Generated so far, by index.
  std::optional<finish_reason> finished;
};

/// All open requests of the process.
class request_ledger {
public:
  /// @param open_max Most entries at one time.
  explicit request_ledger(size_t open_max);

  request_ledger(const request_ledger&) = delete;
  request_ledger& operator=(const request_ledger&) = delete;

  /// Accepts a request; `sink` may be null. Ids are never reused.
  /// Errors: overloaded at the bound; invalid_argument for an empty prompt.
  result<sequence_id> open(generation_request request,
                           std::shared_ptr<token_sink> sink);

  /// Records generated token `index` and emits it. Returns false for one that
  /// is known already (a retried step). Errors: `internal` when another token
  /// is recorded at this index (two runs disagree: a broken promise) or the
  /// index leaves a gap; not_found; cancelled when the sequence has finished
  /// and the token is not among its own.
  result<bool> append(sequence_id id, uint32_t index, token_id token);

  /// Ends a sequence; the first call wins, others return false.
  /// Errors: not_found.
  result<bool> finish(sequence_id id, finish_reason reason,
                      std::optional<error> why = std::nullopt);

  /// Forgets a sequence (finishing it as cancelled if it still runs).
  void close(sequence_id id);

  /// The state of a sequence, if it is open.
  std::optional<ledger_entry> find(sequence_id id) const;

  /// True while `id` is open and not finished.
  bool running(sequence_id id) const;

  /// Everything a restarted BACKBONE has to take up again, oldest first.
  std::vector<ledger_entry> unfinished() const;

  size_t size() const;

private:
  struct record;

  std::shared_ptr<record> find_record(sequence_id id) const;

  size_t open_max_;
  mutable std::mutex mutex_; ///< guards the two below, not the records
  uint64_t last_id_ = 0;
  std::map<sequence_id, std::shared_ptr<record>> records_;
};

} // namespace troupe
