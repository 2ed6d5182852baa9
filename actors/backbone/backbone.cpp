#include "actors/backbone/backbone.hpp"

#include "actors/transport/cluster_system.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// How exact the deadline of a step is kept.
constexpr auto deadline_resolution = std::chrono::seconds(1);

} // namespace

result<void> backbone_state::init(self_ptr self, backbone_services services) {
  self_ = self;
  services_ = std::move(services);
  auto cache = kv_cache::make(services_.weights->config, services_.cache);
  if (!cache)
    return tl::unexpected(std::move(cache.error()));
  blocks_ =
    std::make_unique<block_manager>(cache->blocks(), cache->block_tokens(),
                                    state_slots{cache->states().sequences()});
  runner_ = std::make_shared<pass_runner>(services_.weights, std::move(*cache),
                                          *services_.lanes,
                                          services_.schedule.max_batch_rows);
  scheduler_ = std::make_unique<scheduler>(services_.schedule, *blocks_);
  for (auto& x : services_.ledger->unfinished())
    admit(x);
  step();
  return {};
}

// -- sequences --------------------------------------------------------------

void backbone_state::open(sequence_id id) {
  auto entry = services_.ledger->find(id);
  if (!entry || entry->finished || scheduler_->find(id) != nullptr)
    return;
  admit(*entry);
  step();
}

void backbone_state::admit(const ledger_entry& x) {
  auto& params = x.request.params;
  if (!params.stop.empty() && services_.text) {
    auto text = text_stream::make(*services_.text, params);
    if (!text) {
      finish(x.id, finish_reason::failed, std::move(text.error()));
      return;
    }
    auto stopped = false;
    for (auto id : x.emitted)
      stopped = text->push(id).stopped || stopped;
    if (stopped) { // by a BACKBONE that failed before it could say so
      finish(x.id, finish_reason::stop);
      return;
    }
    texts_.emplace(x.id, std::move(*text));
  }
  auto added = scheduler_->add(x.id, x.request, x.emitted);
  if (!added)
    finish(x.id, finish_reason::failed, std::move(added.error()));
  else if (*added == admission::complete)
    finish(x.id, finish_reason::length);
}

void backbone_state::cancel(sequence_id id) {
  finish(id, finish_reason::cancelled);
  step();
}

void backbone_state::finish(sequence_id id, finish_reason reason,
                            std::optional<error> why) {
  scheduler_->remove(id);
  texts_.erase(id);
  chunks_.erase(id);
  // An error means that it was closed meanwhile: nobody is left to be told.
  std::ignore = services_.ledger->finish(id, reason, std::move(why));
}

// -- a step -----------------------------------------------------------------

void backbone_state::step() {
  if (pass_)
    return;
  auto id = pass_id{services_.pass_ids->fetch_add(1) + 1};
  auto rows = scheduler_->schedule(id);
  if (!rows)
    return;
  auto& pass = pass_.emplace();
  pass.has_prompt_rows =
    std::any_of(rows->slots.begin(), rows->slots.end(),
                [](auto& slot) { return slot.phase == slot_phase::prefill; });
  pass.work = make_work(std::move(*rows));
  pass.started = pass.segment_started = now();
  if (services_.spans)
    pass.trace = {id.value, services_.spans->next_id()};
  inject_before(*pass.work);
  if (!runner_->start(pass.work, me()))
    fail_pass({ec::overloaded, "the queue of the lanes is full"});
}

std::shared_ptr<const pass_work> backbone_state::make_work(batch rows) {
  auto work = std::make_shared<pass_work>();
  for (auto& row : rows.rows) {
    if (row.output != row_output::logits)
      continue;
    auto id = rows.slots[row.slot].sequence;
    work->choices.push_back(
      {id, uint64_t{row.position} + 1, scheduler_->find(id)->params});
  }
  work->rows = std::move(rows);
  return work;
}

void backbone_state::inject_before(const pass_work& work) {
  if (services_.faults->empty())
    return;
  std::vector<uint32_t> rows(work.rows.slots.size());
  for (auto& row : work.rows.rows)
    ++rows[row.slot];
  using point = fault_trigger::point;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto state = scheduler_->find(work.rows.slots[i].sequence);
    if (state->generated() == 0)
      inject(point::prefill, chunks_[state->id]++);
  }
  for (auto& choice : work.choices)
    inject(point::token, scheduler_->find(choice.sequence)->generated());
}

void backbone_state::inject(fault_trigger::point at, uint32_t value) {
  for (auto& fault : services_.faults->due({at, value}))
    if (services_.inject)
      services_.inject(fault);
}

void backbone_state::segment_ended(const segment_done& x) {
  if (!pass_ || pass_->work->rows.pass != x.pass)
    return; // of a pass that was given up
  auto& end = *x.end;
  trace_segment(now(), pass_->has_prompt_rows ? "prefill" : "decode");
  if (end.failure) {
    fail_pass(*end.failure);
    return;
  }
  if (end.request == nullptr) {
    complete(end);
    return;
  }
  pass_->request = end.request;
  inject(fault_trigger::point::layer, end.request->layer.value);
  ask_experts();
}

void backbone_state::ask_experts() {
  pass_->asked = now();
  send_to(self_, services_.directory->read()->router,
          route_request{pass_->request, pass_->trace});
  watch_deadline();
}

void backbone_state::experts_answered(const moe_done& x) {
  if (!pass_ || pass_->request == nullptr || pass_->request->pass != x.pass ||
      pass_->request->layer != x.layer)
    return; // of a step that was retried or given up
  if (x.failure) {
    fail_pass(*x.failure);
    return;
  }
  count_pairs(x);
  pass_->request.reset();
  pass_->segment_started = now();
  if (!runner_->resume(pass_->work, x.response, me()))
    fail_pass({ec::overloaded, "the queue of the lanes is full"});
}

void backbone_state::retry() {
  if (pass_ && pass_->request != nullptr)
    ask_experts();
}

void backbone_state::tick() {
  watching_ = false;
  if (!pass_ || pass_->request == nullptr)
    return;
  if (now() - pass_->asked >= services_.step_deadline)
    fail_pass({ec::deadline_exceeded,
               fmt::format("layer {}: no answer of the experts in time",
                           pass_->request->layer.value)});
  else
    watch_deadline();
}

void backbone_state::watch_deadline() {
  if (watching_)
    return;
  watching_ = true;
  self_->delayed_send(self_, deadline_resolution, deadline_tick{});
}

// -- the end of a pass ------------------------------------------------------

void backbone_state::complete(const segment_end& x) {
  count_pass(now());
  auto work = std::exchange(pass_, std::nullopt)->work;
  auto events = scheduler_->postprocess(work->rows, x.sampled);
  for (auto& [id, why] : x.row_failures)
    finish(id, finish_reason::failed, why);
  for (auto& event : events)
    if (services_.ledger->running(event.sequence))
      accept(event);
    else // cancelled; the message that said so may be lost
      finish(event.sequence, finish_reason::cancelled);
  step();
}

void backbone_state::accept(const step_event& x) {
  if (!x.token_is_stop) {
    auto known = services_.ledger->append(x.sequence, x.index, x.token);
    if (!known) {
      finish(x.sequence, finish_reason::failed, std::move(known.error()));
      return;
    }
    auto text = texts_.find(x.sequence);
    if (text != texts_.end() && text->second.push(x.token).stopped) {
      finish(x.sequence, finish_reason::stop);
      return;
    }
  }
  if (x.finished)
    finish(x.sequence, *x.finished);
}

void backbone_state::fail_pass(const error& why) {
  auto work = std::exchange(pass_, std::nullopt)->work;
  scheduler_->abandon(work->rows);
  for (auto& slot : work->rows.slots)
    finish(slot.sequence, finish_reason::failed, why);
  step();
}

// -- statistics and trace ---------------------------------------------------

void backbone_state::count_pairs(const moe_done& x) {
  auto& rows = pass_->work->rows;
  std::vector<sequence_total> slots(rows.slots.size());
  for (size_t i = 0; i < x.rows.size(); ++i) {
    auto& slot = slots[rows.rows[i].slot];
    slot.local_pairs += x.rows[i].local;
    slot.remote_pairs += x.rows[i].remote;
    slot.rerouted_pairs += x.rows[i].rerouted;
  }
  services_.stats->update([&](statistics& all) {
    for (auto& slot : slots) {
      all.local_pairs += slot.local_pairs;
      all.remote_pairs += slot.remote_pairs;
      all.rerouted_pairs += slot.rerouted_pairs;
    }
    all.failures += x.failures;
    all.remote_wait += x.remote_wait;
  });
  for (size_t i = 0; i < slots.size(); ++i)
    services_.totals->update(rows.slots[i].sequence, [&](sequence_total& all) {
      all.local_pairs += slots[i].local_pairs;
      all.remote_pairs += slots[i].remote_pairs;
      all.rerouted_pairs += slots[i].rerouted_pairs;
      all.failures += x.failures;
      all.remote_wait += x.remote_wait;
    });
}

void backbone_state::count_pass(time_point ended) {
  auto& pass = *pass_;
  auto took = ended - pass.started;
  auto prompt = pass.has_prompt_rows;
  auto phase_of = [&](const batch_row& row) {
    return pass.work->rows.slots[row.slot].phase;
  };
  services_.stats->update([&](statistics& all) {
    ++all.passes;
    (prompt ? all.prefill_time : all.decode_time) += took;
    for (auto& row : pass.work->rows.rows)
      ++(phase_of(row) == slot_phase::prefill ? all.prefill_tokens
                                              : all.decode_tokens);
  });
  for (auto& slot : pass.work->rows.slots)
    services_.totals->update(slot.sequence, [&](sequence_total& all) {
      (slot.phase == slot_phase::prefill ? all.prefill_time
                                         : all.decode_time) += took;
    });
}

void backbone_state::trace_segment(time_point ended, std::string what) {
  if (!services_.spans)
    return;
  span x;
  x.name = std::move(what);
  x.actor = "backbone";
  x.context = {pass_->trace.trace, services_.spans->next_id()};
  x.parent = pass_->trace.span;
  x.start = pass_->segment_started;
  x.end = ended;
  x.pass = pass_->work->rows.pass;
  x.args[0] = {"rows", static_cast<int64_t>(pass_->work->rows.rows.size())};
  services_.spans->record(std::move(x));
}

time_point backbone_state::now() const {
  return self_->clock().now();
}

caf::strong_actor_ptr backbone_state::me() const {
  return caf::actor_cast<caf::strong_actor_ptr>(self_);
}

backbone_actor::behavior_type
backbone(backbone_actor::stateful_pointer<backbone_state> self,
         backbone_services services) {
  use_quiet_handlers(*self);
  if (auto ok = self->state.init(self, std::move(services)); !ok) {
    self->quit(
      caf::make_error(caf::sec::runtime_error, std::move(ok.error().message)));
    return backbone_actor::behavior_type::make_empty_behavior();
  }
  return {
    [=](const sequence_opened& x) { self->state.open(x.id); },
    [=](const sequence_cancelled& x) { self->state.cancel(x.id); },
    [=](const segment_done& x) { self->state.segment_ended(x); },
    [=](const moe_done& x) { self->state.experts_answered(x); },
    [=](const step_retry&) { self->state.retry(); },
    [=](deadline_tick) { self->state.tick(); },
  };
}

} // namespace troupe
