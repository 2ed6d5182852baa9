// Invariants: `waiting_` and `running_` ascend by arrival, and nobody who waits
// is older than the youngest who runs, save the preempted at the queue's head.
// Progress: the oldest sequence may take every other's blocks, so it always
// runs, and `add` refuses what could not run alone.
#include "runtime/engine/scheduler.hpp"

#include "runtime/assert.hpp"

#include <algorithm>

namespace troupe {

namespace {

bool contains(std::span<const token_id> ids, token_id x) {
  return std::find(ids.begin(), ids.end(), x) != ids.end();
}

bool by_arrival(const sequence* a, const sequence* b) {
  return a->arrival < b->arrival;
}

slot_phase phase_of(const sequence& x) {
  return x.pending() == 1 && x.generated() > 0 ? slot_phase::decode
                                               : slot_phase::prefill;
}

} // namespace

scheduler::scheduler(scheduler_options options, block_manager& blocks)
  : options_(std::move(options)), blocks_(blocks) {
  TROUPE_ASSERT(options_.max_batch_rows > 0 && options_.max_running > 0);
}

result<admission> scheduler::add(sequence_id id,
                                 const generation_request& request,
                                 std::span<const token_id> emitted) {
  if (auto ok = check(id, request); !ok)
    return tl::unexpected{ok.error()};
  if (emitted.size() >= request.params.max_tokens ||
      request.prompt.size() + emitted.size() >= tokens_max())
    return admission::complete;
  if (waiting_.size() >= options_.max_waiting)
    return fail(ec::overloaded,
                "request: {} requests are waiting, the most allowed; try "
                "again later",
                waiting_.size());
  auto x = std::make_unique<sequence>();
  x->id = id;
  x->arrival = ++arrivals_;
  x->tokens = request.prompt;
  x->tokens.insert(x->tokens.end(), emitted.begin(), emitted.end());
  x->prompt_tokens = static_cast<uint32_t>(request.prompt.size());
  x->params = request.params;
  waiting_.push_back(x.get());
  sequences_.emplace(id, std::move(x));
  return admission::queued;
}

std::optional<batch> scheduler::schedule(pass_id pass) {
  batch out{pass, {}, {}};
  // Decode first: those who already read along must not wait for a new prompt.
  extend(out, slot_phase::decode);
  extend(out, slot_phase::prefill);
  admit(out);
  if (out.rows.empty())
    return std::nullopt;
  ++stats_.batches;
  return out;
}

std::vector<step_event>
scheduler::postprocess(const batch& x, std::span<const sampled_token> sampled) {
  for (const auto& slot : x.slots) {
    auto& s = *sequences_.at(slot.sequence);
    TROUPE_ASSERT(s.in_flight);
    s.in_flight = false;
    s.computed += slot.rows;
    s.computed_max = std::max(s.computed_max, s.computed);
  }
  std::vector<step_event> out;
  for (const auto& y : sampled) {
    auto& s = *sequences_.at(y.sequence);
    TROUPE_ASSERT(!s.in_flight && s.pending() == 0);
    if (!s.ending)
      out.push_back(accept(s, y.token));
  }
  for (const auto& slot : x.slots) {
    auto& s = *sequences_.at(slot.sequence);
    if (s.ending)
      drop(s);
  }
  return out;
}

void scheduler::abandon(const batch& x) {
  for (const auto& slot : x.slots) {
    auto& s = *sequences_.at(slot.sequence);
    TROUPE_ASSERT(s.in_flight);
    s.in_flight = false;
    if (s.ending)
      drop(s);
  }
}

bool scheduler::remove(sequence_id id) {
  const auto i = sequences_.find(id);
  if (i == sequences_.end())
    return false;
  if (i->second->in_flight)
    i->second->ending = true;
  else
    drop(*i->second);
  return true;
}

const sequence* scheduler::find(sequence_id id) const {
  const auto i = sequences_.find(id);
  return i == sequences_.end() ? nullptr : i->second.get();
}

/// Most tokens of a sequence, prompt and answer.
uint32_t scheduler::tokens_max() const noexcept {
  const auto cached = blocks_.capacity_tokens();
  return static_cast<uint32_t>(
    std::min<uint64_t>(options_.context_tokens, cached));
}

result<void> scheduler::check(sequence_id id,
                              const generation_request& request) const {
  const auto& prompt = request.prompt;
  if (prompt.empty())
    return fail(ec::invalid_argument, "request: the prompt has no token");
  if (sequences_.contains(id))
    return fail(ec::invalid_argument, "request {}: is already scheduled",
                id.value);
  if (prompt.size() >= options_.context_tokens)
    return fail(ec::invalid_argument,
                "request: the prompt has {} tokens, the context holds {} "
                "with the answer; shorten the prompt",
                prompt.size(), options_.context_tokens);
  if (prompt.size() >= blocks_.capacity_tokens())
    return fail(ec::invalid_argument,
                "request: the prompt has {} tokens, the KV cache holds {} "
                "with the answer; shorten the prompt or enlarge the cache",
                prompt.size(), blocks_.capacity_tokens());
  for (auto x : prompt) {
    if (x < 0 || (options_.vocab_size != 0 &&
                  static_cast<uint32_t>(x) >= options_.vocab_size))
      return fail(ec::invalid_argument,
                  "request: token id {} is not in the vocabulary, expected 0 "
                  "to {}",
                  x, int64_t{options_.vocab_size} - 1);
  }
  return {};
}

/// Rows of the running sequences that are in `phase`, oldest first.
void scheduler::extend(batch& out, slot_phase phase) {
  // A copy: making room takes sequences out of `running_`.
  const auto candidates = running_;
  for (auto* x : candidates) {
    if (x->state != sequence_state::running || x->in_flight ||
        phase_of(*x) != phase)
      continue;
    const auto rows = rows_wanted(*x, out);
    if (rows > 0 && make_room(*x, x->computed + rows))
      append_rows(out, *x, rows);
  }
}

/// Lets waiting sequences start, in order, while rows and blocks are left.
void scheduler::admit(batch& out) {
  while (!waiting_.empty() && running_.size() < options_.max_running) {
    auto& x = *waiting_.front();
    const auto rows = rows_wanted(x, out);
    if (rows == 0)
      return;
    // Blocks for all its tokens, and one more for everybody who runs: else it
    // would be preempted, or preempt, a few steps later.
    const auto tokens = static_cast<uint32_t>(x.tokens.size());
    const auto reserve = static_cast<uint32_t>(running_.size());
    if (blocks_.blocks_free() < blocks_.blocks_for(tokens) + reserve ||
        !blocks_.allocate(x.blocks, tokens))
      return;
    waiting_.pop_front();
    x.state = sequence_state::running;
    running_.insert(
      std::upper_bound(running_.begin(), running_.end(), &x, by_arrival), &x);
    append_rows(out, x, rows);
  }
}

uint32_t scheduler::rows_wanted(const sequence& x, const batch& out) const {
  const auto taken = static_cast<uint32_t>(out.rows.size());
  const auto left = options_.max_batch_rows - taken;
  const auto chunk = options_.prefill_chunk;
  const auto most = chunk == 0 ? left : std::min(left, chunk);
  return std::min(x.pending(), most);
}

/// Gives `x` blocks for `tokens` tokens, preempting younger sequences that are
/// in no batch, youngest first.
bool scheduler::make_room(sequence& x, uint32_t tokens) {
  while (!blocks_.allocate(x.blocks, tokens)) {
    const auto victim =
      std::find_if(running_.rbegin(), running_.rend(),
                   [](const sequence* y) { return !y->in_flight; });
    if (victim == running_.rend() || (*victim)->arrival <= x.arrival)
      return false;
    preempt(**victim);
  }
  return true;
}

void scheduler::preempt(sequence& x) {
  ++stats_.preemptions;
  blocks_.deallocate(x.blocks);
  x.computed = 0;
  x.state = sequence_state::waiting;
  running_.erase(std::find(running_.begin(), running_.end(), &x));
  waiting_.insert(
    std::upper_bound(waiting_.begin(), waiting_.end(), &x, by_arrival), &x);
}

void scheduler::append_rows(batch& out, sequence& x, uint32_t rows) {
  const auto end = x.computed + rows;
  count(x, end);
  const auto slot = static_cast<uint32_t>(out.slots.size());
  const auto blocks = blocks_.blocks_for(end);
  out.slots.push_back({x.id,
                       phase_of(x),
                       rows,
                       {x.blocks.ids.begin(), x.blocks.ids.begin() + blocks},
                       x.prompt_tokens,
                       x.blocks.state});
  for (uint32_t p = x.computed; p < end; ++p) {
    const bool last = p + 1 == x.tokens.size();
    out.rows.push_back(
      {x.tokens[p], p, slot, last ? row_output::logits : row_output::none});
  }
  x.in_flight = true;
}

void scheduler::count(const sequence& x, uint32_t end) {
  const auto fresh = std::clamp(x.computed_max, x.computed, end);
  const auto prompt_end = std::clamp(x.prompt_tokens, fresh, end);
  stats_.recomputed_rows += fresh - x.computed;
  stats_.prefill_rows += prompt_end - fresh;
  stats_.decode_rows += end - prompt_end;
}

step_event scheduler::accept(sequence& x, token_id token) {
  step_event out{x.id, x.generated(), token, std::nullopt, false};
  if (contains(x.params.stop_ids, token) ||
      (!x.params.ignore_eos && contains(options_.model_stop, token))) {
    out.finished = finish_reason::stop;
    out.token_is_stop = true;
    x.ending = true;
    return out;
  }
  x.tokens.push_back(token);
  if (x.generated() >= x.params.max_tokens || x.tokens.size() >= tokens_max()) {
    out.finished = finish_reason::length;
    x.ending = true;
  }
  return out;
}

void scheduler::drop(sequence& x) {
  blocks_.deallocate(x.blocks);
  x.state = sequence_state::finished;
  std::erase(running_, &x);
  if (const auto i = std::find(waiting_.begin(), waiting_.end(), &x);
      i != waiting_.end())
    waiting_.erase(i);
  sequences_.erase(sequence_id{x.id}); // a copy: the erasure destroys `x`
}

} // namespace troupe
