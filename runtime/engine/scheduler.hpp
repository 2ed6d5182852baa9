// Chooses the rows of each step: decode rows of the running sequences first,
// then prefill chunks, first come, first served, within a budget of rows. Pure
// bookkeeping: no clock, no thread. When the KV cache is full, the youngest
// running sequence is preempted: it gives its blocks back, waits at the head of
// the queue and is later prefilled again from its tokens (same bits).
//
//   add -> (schedule -> [forward pass, sampling] -> postprocess)*
//
// Several batches may be in flight; a sequence is in one of them at most.
#pragma once

#include "runtime/engine/batch.hpp"
#include "runtime/engine/block_manager.hpp"
#include "runtime/engine/sequence.hpp"
#include "runtime/error.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe {

struct scheduler_options {
  uint32_t max_batch_rows = 512; ///< Rows of one batch.
  uint32_t prefill_chunk = 0;    ///< Most prompt rows of a sequence per batch;
                                 ///< 0: as many as the batch takes.
  uint32_t max_running = 64;     ///< Sequences with KV blocks at one time.
  uint32_t max_waiting = 1024;
  uint32_t context_tokens = 0; ///< The model's limit, prompt and answer.
  uint32_t vocab_size = 0;     ///< Prompt ids must be below it; 0: unchecked.
  std::vector<token_id> model_stop; ///< The model's own stop ids (eos).
};

/// A token chosen for a row that wanted logits.
struct sampled_token {
  sequence_id sequence;
  token_id token = 0;
};

/// What one step did to one sequence.
struct step_event {
  sequence_id sequence;
  uint32_t index = 0; ///< of the generated token, from 0
  token_id token = 0;
  std::optional<finish_reason> finished; ///< With the token: it was the last.
  /// The token ends the text and is no part of it (a stop id).
  bool token_is_stop = false;
};

/// What became of a request.
enum class admission : uint8_t {
  queued,
  complete, ///< Nothing is left to generate: it ends now, with `length`.
};

/// Counts since the start.
struct scheduler_stats {
  uint64_t batches = 0;
  uint64_t prefill_rows = 0;    ///< Prompt rows, first time.
  uint64_t decode_rows = 0;     ///< Rows of generated tokens, first time.
  uint64_t recomputed_rows = 0; ///< Prefilled again after a preemption.
  uint64_t preemptions = 0;
};

class scheduler {
public:
  /// `blocks` outlives the scheduler. @pre `max_batch_rows` >= 1.
  scheduler(scheduler_options options, block_manager& blocks);

  /// Queues a request. `emitted` are tokens generated earlier (from the
  /// ledger): generation continues behind them. Errors: overloaded (waiting
  /// queue full), invalid_argument (empty, id outside the vocabulary, prompt
  /// that leaves no room in the context or the KV cache, sequence known). The
  /// answer ends (`length`) where the context or the whole cache is full.
  result<admission> add(sequence_id id, const generation_request& request,
                        std::span<const token_id> emitted = {});

  /// The next batch; nothing when no sequence can run now.
  std::optional<batch> schedule(pass_id pass);

  /// Takes the tokens sampled for the rows of `x` that wanted logits, in row
  /// order; returns what happened in the same order. @pre `x` came from
  /// `schedule` and was not given back yet.
  std::vector<step_event> postprocess(const batch& x,
                                      std::span<const sampled_token> sampled);

  /// Gives a batch back whose pass failed: its rows will be scheduled again.
  void abandon(const batch& x);

  /// Ends a sequence now (client gone, stop string found, error). False when
  /// it is unknown. Blocks in a batch in flight are freed when it comes back.
  bool remove(sequence_id id);

  /// Waiting and running sequences.
  size_t size() const noexcept {
    return sequences_.size();
  }
  size_t waiting() const noexcept {
    return waiting_.size();
  }
  size_t running() const noexcept {
    return running_.size();
  }

  /// A sequence's state, or nullptr.
  const sequence* find(sequence_id id) const;

  const scheduler_stats& stats() const noexcept {
    return stats_;
  }

private:
  uint32_t tokens_max() const noexcept;
  result<void> check(sequence_id id, const generation_request& request) const;
  void extend(batch& out, slot_phase phase);
  void admit(batch& out);
  uint32_t rows_wanted(const sequence& x, const batch& out) const;
  bool make_room(sequence& x, uint32_t tokens);
  void preempt(sequence& x);
  void append_rows(batch& out, sequence& x, uint32_t rows);
  void count(const sequence& x, uint32_t end);
  step_event accept(sequence& x, token_id token);
  void drop(sequence& x);

  scheduler_options options_;
  block_manager& blocks_;
  uint64_t arrivals_ = 0;
  std::unordered_map<sequence_id, std::unique_ptr<sequence>> sequences_;
  std::deque<sequence*> waiting_;  ///< oldest first
  std::vector<sequence*> running_; ///< oldest first
  scheduler_stats stats_;
};

} // namespace troupe
