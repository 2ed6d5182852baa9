#include "actors/dispatch/dispatcher.hpp"

#include "actors/transport/cluster_system.hpp"
#include "runtime/trace/remote_span.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// How exact deadlines are kept while batches are open.
constexpr auto deadline_resolution = std::chrono::milliseconds(10);

std::string node_name(const cluster_snapshot& view, node_id id) {
  auto node = view.find(id);
  return node == nullptr ? "head" : node->name;
}

const char* outcome_name(batch_outcome::kind x) {
  switch (x) {
  case batch_outcome::kind::answered:
    return "experts";
  case batch_outcome::kind::late:
    return "experts (late, rerouted)";
  case batch_outcome::kind::lost:
    return "experts (node lost, rerouted)";
  case batch_outcome::kind::refused:
    return "experts (refused, rerouted)";
  }
  return "experts";
}

} // namespace

void dispatcher_state::init(self_ptr self, dispatch_options options,
                            dispatch_services services) {
  self_ = self;
  layer_ = options.layer;
  services_ = std::move(services);
  core_ = std::make_unique<dispatch_core>(options, *services_.batch_ids);
}

void dispatcher_state::start(const dispatch_request& x) {
  row_bytes_ = x.request->rows->row_bytes();
  apply(core_->start(now(), x, *view()));
}

void dispatcher_state::reply(const expert_reply& x) {
  take_credit(x);
  auto effects = core_->reply(now(), x, *view());
  apply(std::move(effects));
}

/// Late replies have used the link as well as those that count.
void dispatcher_state::take_credit(const expert_reply& x) {
  if (x.outputs.empty())
    return;
  for (auto& [id, from] : services_.peers->read()->peers) {
    if (from.incarnation != x.node_incarnation)
      continue;
    from.link->received(x.outputs.size());
    services_.stats->update(
      [&](statistics& all) { all.output_bytes_received += x.outputs.size(); });
  }
}

void dispatcher_state::lost(const node_lost& x) {
  apply(core_->node_lost(now(), x, *view()));
}

void dispatcher_state::tick() {
  watching_ = false;
  apply(core_->expire(now(), *view()));
}

time_point dispatcher_state::now() const {
  return self_->clock().now();
}

std::shared_ptr<const cluster_snapshot> dispatcher_state::view() const {
  return services_.view->read();
}

void dispatcher_state::apply(dispatch_effects effects) {
  for (auto& x : effects.late)
    report_late(x);
  for (auto& x : effects.outcomes) {
    count(x);
    trace(x);
  }
  for (auto& x : effects.send) {
    if (send(x))
      continue;
    // The peer is gone or does not keep up: no need to wait for a deadline.
    node_late late{x.destination, x.batch.header.node_incarnation};
    report_late(late);
    apply(core_->node_lost(now(), {late.node, late.incarnation}, *view()));
  }
  auto known = services_.directory->read();
  for (auto& x : effects.done)
    send_to(self_, known->backbone, std::move(x));
  watch_deadlines();
}

void dispatcher_state::report_late(const node_late& x) {
  // Published here and now: the next layer must not wait for this node again.
  suspect(*services_.view, x.node, x.incarnation);
  send_to(self_, services_.directory->read()->membership, x);
}

bool dispatcher_state::send(const outgoing_batch& x) {
  if (x.destination != local_node)
    return send_remote(x);
  send_to(self_, services_.directory->read()->fallback, x.batch);
  return true;
}

bool dispatcher_state::send_remote(const outgoing_batch& x) {
  auto peers = services_.peers->read();
  auto to = peers->find(x.destination, x.batch.header.node_incarnation);
  if (to == nullptr)
    return false;
  auto shard = to->shards.find(layer_);
  if (shard == to->shards.end())
    return false;
  auto from = caf::actor_cast<caf::strong_actor_ptr>(self_);
  auto per_piece = std::max<size_t>(1, piece_bytes / row_bytes_) * row_bytes_;
  auto total = x.batch.rows.size();
  auto first = x.batch;
  first.rows = x.batch.rows.slice(0, std::min(per_piece, total));
  auto sent = to->link->send(
    {from, shard->second, caf::make_message(first), first.rows.size()});
  for (auto at = first.rows.size(); sent && at < total; at += per_piece) {
    auto size = std::min(per_piece, total - at);
    expert_rows_piece piece{x.batch.header.batch,
                            static_cast<uint32_t>(at / row_bytes_),
                            x.batch.rows.slice(at, size)};
    sent = to->link->send(
      {from, shard->second, caf::make_message(std::move(piece)), size});
  }
  return sent;
}

void dispatcher_state::count(const batch_outcome& x) {
  if (x.node == local_node)
    return;
  services_.stats->update([&](statistics& all) {
    auto& node = all.nodes[x.node];
    if (x.how != batch_outcome::kind::answered) {
      ++node.failures;
      return;
    }
    node.pairs += x.pairs;
    ++node.batches;
    node.round_trip += x.ended - x.sent;
    node.queue_wait += x.queue_wait;
    node.compute += x.compute;
    all.row_bytes_sent += x.rows * row_bytes_;
  });
}

void dispatcher_state::trace(const batch_outcome& x) {
  if (services_.spans == nullptr || !x.trace.traced())
    return;
  auto snapshot = view();
  span wait;
  wait.name = outcome_name(x.how);
  wait.category = "message";
  wait.kind = span_kind::wait;
  wait.actor = fmt::format("dispatcher[{}]", layer_.value);
  wait.context = {x.trace.trace, services_.spans->next_id()};
  wait.parent = x.trace.span;
  wait.start = x.sent;
  wait.end = x.ended;
  wait.pass = x.pass;
  wait.layer = layer_;
  wait.batch = x.batch;
  wait.args = {span_arg{"rows", x.rows}, span_arg{"pairs", x.pairs},
               span_arg{"attempt", x.attempt}, span_arg{}};
  auto parent = wait.context.span;
  services_.spans->record(wait);
  if (x.how != batch_outcome::kind::answered)
    return;
  auto placed = place_remote({x.sent, x.ended}, {x.queue_wait, x.compute});
  span work = std::move(wait);
  work.name = "compute";
  work.category = "experts";
  work.kind = span_kind::work;
  work.node = node_name(*snapshot, x.node);
  work.actor = x.node == local_node
                 ? "fallback"
                 : fmt::format("expert_shard[{}]", layer_.value);
  work.context.span = services_.spans->next_id();
  work.parent = parent;
  work.start = placed.started;
  work.end = placed.replied;
  services_.spans->record(std::move(work));
}

void dispatcher_state::watch_deadlines() {
  if (watching_ || core_->open_batches() == 0)
    return;
  watching_ = true;
  self_->delayed_send(self_, deadline_resolution, deadline_tick{});
}

dispatcher_actor::behavior_type
dispatcher(dispatcher_actor::stateful_pointer<dispatcher_state> self,
           dispatch_options options, dispatch_services services) {
  use_quiet_handlers(*self);
  self->state.init(self, options, std::move(services));
  return {
    [=](const dispatch_request& x) { self->state.start(x); },
    [=](const expert_reply& x) { self->state.reply(x); },
    [=](const node_lost& x) { self->state.lost(x); },
    [=](deadline_tick) { self->state.tick(); },
  };
}

} // namespace troupe
