#include "actors/dispatch/dispatch_core.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

/// After so many reroutings of one pass no node gets its pairs any more.
constexpr uint32_t attempts_max = 16;

shared_bytes all_rows(const hidden_ptr& rows) {
  auto data = std::shared_ptr<const std::byte[]>(rows, rows->memory.data());
  return {std::move(data), rows->rows * rows->row_bytes()};
}

shared_bytes gather_rows(const hidden_rows& rows,
                         std::span<const uint32_t> wanted) {
  auto bytes = rows.row_bytes();
  auto data = shared_bytes::allocate(wanted.size() * bytes);
  TROUPE_ASSERT(data != nullptr);
  for (size_t i = 0; i < wanted.size(); ++i)
    std::memcpy(data.get() + i * bytes, rows.row(wanted[i]), bytes);
  return {std::move(data), wanted.size() * bytes};
}

ec failure_code(uint8_t x) {
  return x > static_cast<uint8_t>(ec::internal) ? ec::internal
                                                : static_cast<ec>(x);
}

duration as_duration(uint64_t ns) {
  // A peer's number: a day is as good as anything longer.
  constexpr uint64_t day_ns = uint64_t{24} * 3600 * 1'000'000'000;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(ns, day_ns)));
}

} // namespace

dispatch_core::dispatch_core(dispatch_options options,
                             std::atomic<uint64_t>& ids)
  : options_(options), ids_(ids) {
  // nop
}

// -- events ---------------------------------------------------------------

dispatch_effects dispatch_core::start(time_point now, const dispatch_request& x,
                                      const cluster_snapshot& view) {
  dispatch_effects out;
  auto pass = x.request->pass;
  forget_batches(pass);
  auto& choice = *x.choice;
  auto planned = plan_dispatch({options_.layer, choice.top_k, choice.experts},
                               view, options_.fallback);
  auto& state = passes_[pass] = open_pass{};
  state.request = x.request;
  state.choice = x.choice;
  state.trace = x.trace;
  state.rows.resize(x.request->rows->rows);
  state.open_pairs = choice.pairs();
  state.started = state.local_done = now;
  state.response = std::make_shared<moe_response>();
  state.response->pass = pass;
  state.response->layer = options_.layer;
  state.response->top_k = choice.top_k;
  state.response->type = options_.reply_type;
  state.response->pairs.resize(choice.pairs());
  state.response->weights = choice.weights;
  if (!planned) {
    fail_pass(pass, std::move(planned.error()), out);
    return out;
  }
  for (auto& batch : *planned)
    send(now, pass, std::move(batch), view, out);
  return out;
}

dispatch_effects dispatch_core::reply(time_point now, const expert_reply& x,
                                      const cluster_snapshot& view) {
  dispatch_effects out;
  auto i = batches_.find(batch_id{x.batch});
  if (i == batches_.end() || i->second.incarnation != x.node_incarnation ||
      x.layer != options_.layer.value) {
    ++dropped_replies_;
    return out;
  }
  auto& batch = i->second;
  auto pass = batch.pass;
  auto seen = view;
  if (x.failure != 0) {
    if (batch.plan.destination == local_node) {
      fail_pass(pass, error{failure_code(x.failure), x.message}, out);
      return out;
    }
    distrust(batch, seen, out);
    give_up(now, i, batch_outcome::kind::refused, x.message, out);
  } else if (!fits(batch, x)) {
    distrust(batch, seen, out);
    give_up(now, i, batch_outcome::kind::refused,
            fmt::format("a reply of {} bytes for pair {} does not fit a batch "
                        "of {} pairs",
                        x.outputs.size(), x.first, batch.plan.pairs.size()),
            out);
  } else {
    fill(batch, x);
    if (batch.open_pairs == 0)
      close(now, i, x, out);
  }
  for (auto& [id, pairs] : std::exchange(to_reroute_, {}))
    reroute(now, id, std::move(pairs), seen, out);
  return out;
}

dispatch_effects dispatch_core::node_lost(time_point now,
                                          const struct node_lost& x,
                                          const cluster_snapshot& view) {
  dispatch_effects out;
  for (auto i = batches_.begin(); i != batches_.end();) {
    auto current = i++;
    auto& batch = current->second;
    if (batch.plan.destination == x.node && batch.incarnation == x.incarnation)
      give_up(now, current, batch_outcome::kind::lost, {}, out);
  }
  for (auto& [id, pairs] : std::exchange(to_reroute_, {}))
    reroute(now, id, std::move(pairs), view, out);
  return out;
}

dispatch_effects dispatch_core::expire(time_point now,
                                       const cluster_snapshot& view) {
  dispatch_effects out;
  std::vector<pass_id> hopeless;
  auto seen = view;
  for (auto i = batches_.begin(); i != batches_.end();) {
    auto current = i++;
    auto& batch = current->second;
    if (now < batch.deadline)
      continue;
    auto node = batch.plan.destination;
    if (node == local_node) {
      hopeless.push_back(batch.pass);
      continue;
    }
    distrust(batch, seen, out);
    give_up(now, current, batch_outcome::kind::late, {}, out);
  }
  for (auto& [id, pairs] : std::exchange(to_reroute_, {}))
    reroute(now, id, std::move(pairs), seen, out);
  for (auto pass : hopeless)
    fail_pass(pass,
              {ec::deadline_exceeded,
               fmt::format("layer {}: the local experts gave no answer in time",
                           options_.layer.value)},
              out);
  return out;
}

/// The batch's node gets nothing more for now: not in `seen`, and MEMBERSHIP
/// hears of it.
void dispatch_core::distrust(const open_batch& batch, cluster_snapshot& seen,
                             dispatch_effects& out) const {
  auto node = batch.plan.destination;
  out.late.push_back({node, batch.incarnation});
  auto known = seen.find(node);
  if (known != nullptr && known->incarnation == batch.incarnation)
    seen.nodes[node.value - 1].state = node_state::suspect;
}

std::optional<time_point> dispatch_core::next_deadline() const {
  std::optional<time_point> result;
  for (auto& [id, batch] : batches_)
    if (!result || batch.deadline < *result)
      result = batch.deadline;
  return result;
}

// -- sending --------------------------------------------------------------

void dispatch_core::send(time_point now, pass_id pass, planned_batch plan,
                         const cluster_snapshot& view, dispatch_effects& out) {
  auto& state = passes_.at(pass);
  for (size_t i = 0; i < plan.pairs.size(); ++i)
    plan.pairs[i].input_weight = state.choice->input_weight(plan.positions[i]);
  open_batch batch;
  batch.pass = pass;
  batch.attempt = state.attempts;
  batch.filled.resize(plan.pairs.size());
  batch.open_pairs = plan.pairs.size();
  batch.sent = now;
  batch.deadline = now + options_.local_deadline;
  batch.incarnation = options_.local_incarnation;
  auto destination = plan.destination;
  if (auto node = view.find(destination)) {
    batch.incarnation = node->incarnation;
    auto& learned =
      deadlines_.try_emplace(destination, options_.deadline).first->second;
    batch.deadline =
      now + learned.wait_for(plan.pairs.size(), queued_pairs(destination));
  }
  batch.plan = std::move(plan);
  auto id = batch_id{ids_.fetch_add(1, std::memory_order_relaxed) + 1};
  out.send.push_back({destination, make_batch(id, batch, view)});
  batches_.emplace(id, std::move(batch));
}

expert_batch dispatch_core::make_batch(batch_id id, const open_batch& x,
                                       const cluster_snapshot& view) const {
  auto& state = passes_.at(x.pass);
  auto& rows = state.request->rows;
  expert_batch result;
  auto& header = result.header;
  header.trace = state.trace;
  header.head_incarnation = options_.head_incarnation;
  header.node_incarnation = x.incarnation;
  header.batch = id.value;
  header.pass = x.pass.value;
  header.attempt = x.attempt;
  header.map_version = view.map->version();
  header.layer = options_.layer.value;
  header.rows = static_cast<uint32_t>(x.plan.rows.size());
  header.pairs = static_cast<uint32_t>(x.plan.pairs.size());
  header.row_type = static_cast<uint8_t>(rows->type);
  header.reply_type = static_cast<uint8_t>(options_.reply_type);
  result.pairs =
    shared_bytes::copy_of_values<expert_pair>(std::span{x.plan.pairs});
  result.rows = x.plan.rows.size() == rows->rows
                  ? all_rows(rows)
                  : gather_rows(*rows, x.plan.rows);
  return result;
}

size_t dispatch_core::queued_pairs(node_id node) const {
  size_t result = 0;
  for (auto& [id, batch] : batches_)
    if (batch.plan.destination == node)
      result += batch.open_pairs;
  return result;
}

// -- receiving ------------------------------------------------------------

size_t dispatch_core::vector_bytes() const {
  return options_.hidden_size * kernels::size_of(options_.reply_type);
}

bool dispatch_core::fits(const open_batch& batch, const expert_reply& x) const {
  auto pairs = batch.plan.pairs.size();
  return !x.outputs.empty() && x.outputs.size() % vector_bytes() == 0 &&
         x.outputs.holds_array_of<float>() && x.first < pairs &&
         x.outputs.size() / vector_bytes() <= pairs - x.first;
}

void dispatch_core::fill(open_batch& batch, const expert_reply& x) {
  auto& state = passes_.at(batch.pass);
  auto count = x.outputs.size() / vector_bytes();
  for (size_t i = 0; i < count; ++i) {
    auto pair = x.first + i;
    if (batch.filled[pair])
      continue;
    batch.filled[pair] = true;
    --batch.open_pairs;
    --state.open_pairs;
    auto position = batch.plan.positions[pair];
    state.response->pairs[position] = x.outputs.data() + i * vector_bytes();
    auto& row = state.rows[position / state.choice->top_k];
    switch (batch.plan.route) {
    case pair_route::local:
      ++row.local;
      break;
    case pair_route::remote:
      ++row.remote;
      break;
    case pair_route::rerouted:
      ++row.rerouted;
      break;
    }
  }
  state.response->owners.push_back(
    std::make_shared<const shared_bytes>(x.outputs));
}

void dispatch_core::close(time_point now, batch_map::iterator batch,
                          const expert_reply& x, dispatch_effects& out) {
  auto& entry = batch->second;
  auto pass = entry.pass;
  auto ended = outcome(now, batch, batch_outcome::kind::answered);
  ended.queue_wait = as_duration(x.queue_ns);
  ended.compute = as_duration(x.compute_ns);
  out.outcomes.push_back(std::move(ended));
  auto node = entry.plan.destination;
  if (node == local_node)
    passes_.at(pass).local_done = now;
  else
    deadlines_.at(node).observe(entry.plan.pairs.size(), now - entry.sent);
  batches_.erase(batch);
  if (passes_.at(pass).open_pairs == 0)
    finish(now, pass, out);
}

void dispatch_core::give_up(time_point now, batch_map::iterator batch,
                            batch_outcome::kind how, std::string message,
                            dispatch_effects& out) {
  auto& entry = batch->second;
  auto ended = outcome(now, batch, how);
  ended.message = std::move(message);
  out.outcomes.push_back(std::move(ended));
  std::vector<open_pair> pairs;
  for (size_t i = 0; i < entry.filled.size(); ++i)
    if (!entry.filled[i])
      pairs.push_back(
        {entry.plan.positions[i], entry.plan.pairs[i].expert.value});
  ++passes_.at(entry.pass).failures;
  to_reroute_.emplace_back(entry.pass, std::move(pairs));
  batches_.erase(batch);
}

void dispatch_core::reroute(time_point now, pass_id pass,
                            std::vector<open_pair> pairs,
                            const cluster_snapshot& view,
                            dispatch_effects& out) {
  auto i = passes_.find(pass);
  if (i == passes_.end())
    return; // failed meanwhile
  auto& state = i->second;
  // Enough of trying: from here on only the head's own experts count.
  auto seen = view;
  if (++state.attempts > attempts_max)
    for (auto& node : seen.nodes)
      node.state = node_state::suspect;
  auto planned = plan_reroute(pairs, options_.layer, state.choice->top_k, seen,
                              options_.fallback);
  if (!planned) {
    fail_pass(pass, std::move(planned.error()), out);
    return;
  }
  for (auto& batch : *planned)
    send(now, pass, std::move(batch), seen, out);
}

// -- the end of a pass ----------------------------------------------------

void dispatch_core::finish(time_point now, pass_id pass,
                           dispatch_effects& out) {
  auto node = passes_.extract(pass);
  auto& state = node.mapped();
  moe_done result;
  result.pass = pass;
  result.layer = options_.layer;
  result.response = std::move(state.response);
  result.rows = std::move(state.rows);
  result.failures = state.failures;
  // Nonzero only when a remote reply came after all local work.
  result.remote_wait = now - state.local_done;
  out.done.push_back(std::move(result));
}

void dispatch_core::fail_pass(pass_id pass, error why, dispatch_effects& out) {
  if (passes_.erase(pass) == 0)
    return;
  forget_batches(pass);
  moe_done result;
  result.pass = pass;
  result.layer = options_.layer;
  result.failure = std::move(why);
  out.done.push_back(std::move(result));
}

void dispatch_core::forget_batches(pass_id pass) {
  std::erase_if(batches_, [&](auto& x) { return x.second.pass == pass; });
}

batch_outcome dispatch_core::outcome(time_point now, batch_map::iterator batch,
                                     batch_outcome::kind how) const {
  auto& entry = batch->second;
  batch_outcome result;
  result.how = how;
  result.batch = batch->first;
  result.pass = entry.pass;
  result.trace = passes_.at(entry.pass).trace;
  result.node = entry.plan.destination;
  result.route = entry.plan.route;
  result.attempt = entry.attempt;
  result.rows = static_cast<uint32_t>(entry.plan.rows.size());
  result.pairs = static_cast<uint32_t>(entry.plan.pairs.size());
  result.sent = entry.sent;
  result.ended = now;
  return result;
}

} // namespace troupe
