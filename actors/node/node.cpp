#include "actors/node/node.hpp"

#include "actors/actor_directory.hpp"
#include "actors/expert/expert_shard.hpp"
#include "actors/membership/membership.hpp"
#include "actors/type_ids.hpp"

#include <caf/system_messages.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace troupe {

namespace {

/// The clock of an actor without a head: when to dial again.
constexpr auto idle_tick = std::chrono::milliseconds(20);

/// From the connection to the head's answer.
constexpr auto join_deadline = std::chrono::seconds(10);

/// Heartbeats are never rarer or more frequent than this, whatever a head says.
constexpr auto heartbeat_min = std::chrono::milliseconds(10);
constexpr auto heartbeat_max = std::chrono::seconds(10);

std::vector<expert_key>
experts_of(const std::vector<layer_index>& layers,
           const std::vector<std::vector<bool>>& wanted) {
  std::vector<expert_key> all;
  for (size_t layer = 0; layer < wanted.size(); ++layer)
    for (uint32_t expert = 0; expert < wanted[layer].size(); ++expert)
      if (wanted[layer][expert])
        all.emplace_back(layers[layer], expert_id{expert});
  return all;
}

std::optional<error> failure_of(result<void> x) {
  return x ? std::nullopt : std::optional{std::move(x.error())};
}

} // namespace

void node_state_machine::init(self_ptr self, node_services services) {
  self_ = self;
  services_ = std::move(services);
  services_.transport->from_head->allow(self_->id(), receives::node());
  dial();
  tick();
}

// -- the connection ---------------------------------------------------------

void node_state_machine::dial() {
  dialing_ = true;
  report(node_event::connecting,
         fmt::format("{}:{}", services_.head.host, services_.head.port));
  connect(
    self_->system(), services_.transport, services_.head,
    caf::actor_cast<caf::actor>(caf::actor_cast<caf::strong_actor_ptr>(self_)));
}

void node_state_machine::connected(const connect_outcome& x) {
  dialing_ = false;
  if (!x.head) {
    report(node_event::lost, x.head.error().message);
    retry();
    return;
  }
  head_ = x.head->actor;
  joined_at_ = steady::now();
  self_->monitor(caf::actor_cast<caf::actor_addr>(head_));
  auto bytes = encode(services_.self);
  send_to(self_, head_,
          node_join{shared_bytes::copy_of(bytes),
                    caf::actor_cast<caf::strong_actor_ptr>(self_)});
}

void node_state_machine::retry() {
  ++attempts_;
  next_dial_ = steady::now() + services_.reconnect.delay(attempts_);
}

void node_state_machine::welcome(const node_welcome& x) {
  if (head_ == nullptr || id_ != 0)
    return; // the answer to an older hello
  auto theirs = decode_hello(x.hello.bytes());
  if (!theirs) {
    lose_head(theirs.error().message);
    return;
  }
  auto expected = services_.self;
  expected.node_name = theirs->node_name;
  if (services_.relaxed)
    expected.numeric_fingerprint = theirs->numeric_fingerprint;
  if (auto ok = check_hello(expected, *theirs); !ok) {
    lose_head(ok.error().message);
    return;
  }
  id_ = x.id;
  incarnation_ = x.incarnation;
  heartbeat_ =
    std::clamp<duration>(std::chrono::nanoseconds(static_cast<int64_t>(
                           std::min<uint64_t>(x.heartbeat_ns, INT64_MAX))),
                         heartbeat_min, heartbeat_max);
  peer_link::options link;
  link.id = id_;
  link.incarnation = incarnation_;
  link.control = head_;
  uplink_ = std::make_shared<peer_link>(std::move(link));
  start_shards();
}

void node_state_machine::refused(const node_refused& x) {
  report(node_event::refused, x.message);
  lose_head({});
}

void node_state_machine::lose_head(const std::string& why) {
  if (head_ == nullptr)
    return;
  if (!why.empty())
    report(node_event::lost, why);
  self_->demonitor(caf::actor_cast<caf::actor_addr>(head_));
  head_ = nullptr;
  id_ = 0;
  wanted_map_ = loaded_map_ = 0;
  if (uplink_)
    uplink_->close();
  uplink_.reset();
  stop_shards();
  retry();
}

void node_state_machine::down(const caf::down_msg& x) {
  if (head_ && head_->address() == x.source) {
    lose_head("the connection to the head is lost");
    return;
  }
  for (size_t i = 0; i < shards_.size(); ++i)
    if (shards_[i].actor && shards_[i].actor->address() == x.source)
      shard_ended(i, x.reason);
}

void node_state_machine::tick() {
  auto now = steady::now();
  if (head_ != nullptr && id_ == 0 && now - joined_at_ > join_deadline)
    lose_head("the head does not answer the hello");
  if (head_ == nullptr && !dialing_ && now >= next_dial_)
    dial();
  if (uplink_)
    uplink_->tick(now);
  auto wait = id_ == 0 ? duration{idle_tick} : heartbeat_;
  beat();
  self_->delayed_send(self_, wait, deadline_tick{});
}

void node_state_machine::beat() {
  if (id_ == 0)
    return;
  send_to(self_, head_,
          node_heartbeat{id_, incarnation_, services_.store->stats().bytes,
                         services_.images->stats().bytes_read,
                         pages_.resident_bytes, pages_.huge_bytes()});
}

// -- experts ----------------------------------------------------------------

void node_state_machine::start_shards() {
  auto restart = services_.restart;
  for (size_t i = 0; i < services_.limits.layers.size(); ++i) {
    restart.seed = i;
    shards_.push_back({nullptr, restart_policy{restart}});
    start_shard(i);
  }
}

void node_state_machine::start_shard(size_t index) {
  auto serves = std::make_shared<expert_services>();
  serves->limits = services_.limits;
  serves->limits.layers = {services_.limits.layers[index]};
  serves->limits.incarnation = incarnation_;
  serves->store = services_.store;
  serves->lanes = services_.lanes;
  serves->uplink = uplink_;
  serves->delay_per_pair = services_.delay_per_pair;
  auto shard = self_->spawn<caf::monitored>(expert_shard, serves);
  services_.transport->from_head->allow(shard.id(), receives::expert_shard());
  shards_[index].actor = caf::actor_cast<caf::strong_actor_ptr>(shard);
}

void node_state_machine::shard_ended(size_t index, const caf::error& why) {
  auto& shard = shards_[index];
  services_.transport->from_head->revoke(shard.actor->id());
  shard.actor = nullptr;
  auto how = why ? child_end::failure : child_end::normal;
  auto decision = shard.policy.ended(steady::now(), how);
  if (decision.what != restart_decision::action::restart) {
    lose_head("an expert shard failed too often");
    return;
  }
  self_->delayed_send(self_, decision.delay,
                      shard_restart{index, incarnation_});
}

void node_state_machine::restart_shard(const shard_restart& x) {
  if (id_ == 0 || x.incarnation != incarnation_ || x.index >= shards_.size() ||
      shards_[x.index].actor != nullptr)
    return; // another head by now
  start_shard(x.index);
  if (loaded_map_ != 0)
    send_ready();
}

void node_state_machine::stop_shards() {
  for (auto& shard : shards_) {
    if (shard.actor == nullptr)
      continue;
    services_.transport->from_head->revoke(shard.actor->id());
    self_->demonitor(caf::actor_cast<caf::actor_addr>(shard.actor));
    caf::anon_send_exit(shard.actor, caf::exit_reason::user_shutdown);
  }
  shards_.clear();
}

void node_state_machine::stop() {
  stop_shards();
  head_ = nullptr;
  uplink_.reset();
}

void node_state_machine::assignment(const node_assignment& x) {
  auto& layers = services_.limits.layers;
  auto size = layers.size() * services_.limits.experts;
  if (id_ == 0 || x.layers != layers.size() ||
      x.experts != services_.limits.experts || x.holds.size() != size ||
      x.map_version <= wanted_map_)
    return;
  holds next(layers.size(), std::vector<bool>(x.experts));
  for (size_t i = 0; i < size; ++i)
    next[i / x.experts][i % x.experts] = x.holds.data()[i] != std::byte{0};
  // Batches planned with the map before may still be on their way.
  services_.store->retain([&](layer_index layer, expert_id expert) {
    auto i = static_cast<size_t>(
      std::lower_bound(layers.begin(), layers.end(), layer) - layers.begin());
    return next[i][expert.value] ||
           (!wanted_.empty() && wanted_[i][expert.value]);
  });
  wanted_ = std::move(next);
  load(x.map_version);
}

void node_state_machine::load(uint64_t map_version) {
  wanted_map_ = map_version;
  report(node_event::loading, fmt::format("map {}", map_version));
  if (services_.loading) {
    size_t count = 0;
    for (auto& layer : wanted_)
      count +=
        static_cast<size_t>(std::count(layer.begin(), layer.end(), true));
    services_.loading(count);
  }
  auto me = caf::actor_cast<caf::strong_actor_ptr>(self_);
  auto posted = services_.lanes->post(
    [me, load = ++loads_, store = services_.store,
     wanted = experts_of(services_.limits.layers, wanted_),
     lanes = services_.lanes] {
      send_from_outside(
        me, experts_loaded{load, failure_of(store->preload(wanted, *lanes)),
                           pages_of_process()});
    });
  if (!posted)
    lose_head("the queue of the lanes is full");
}

void node_state_machine::loaded(const experts_loaded& x) {
  if (x.load != loads_ || head_ == nullptr)
    return; // a newer assignment came meanwhile, or the head is gone
  if (x.failure) {
    report(node_event::failed, x.failure->message);
    lose_head({});
    return;
  }
  attempts_ = 0;
  loaded_map_ = wanted_map_;
  pages_ = x.pages.value_or(page_facts{});
  beat(); // what it took is known when it serves
  send_ready();
}

void node_state_machine::send_ready() {
  node_ready x{id_, incarnation_, loaded_map_, {}};
  for (auto& shard : shards_) {
    if (shard.actor == nullptr)
      return; // told when it is back
    x.shards.push_back(shard.actor);
  }
  send_to(self_, head_, std::move(x));
  report(node_event::serving,
         fmt::format("{} experts, {} MiB ({} MiB read from the checkpoint)",
                     services_.store->stats().experts,
                     services_.store->stats().bytes >> 20,
                     services_.images->stats().bytes_read >> 20));
}

void node_state_machine::credit(const link_credit& x) {
  if (uplink_ && x.incarnation == incarnation_)
    uplink_->credit(x.bytes);
}

void node_state_machine::fault(const node_fault& x) {
  if (x.action == "stop")
    std::raise(SIGSTOP);
  else if (x.action == "kill")
    std::raise(SIGKILL);
}

void node_state_machine::report(node_event what,
                                const std::string& text) const {
  if (services_.report)
    services_.report(what, text);
}

node_actor::behavior_type
node(node_actor::stateful_pointer<node_state_machine> self,
     node_services services) {
  use_quiet_handlers(*self);
  self->set_down_handler([=](const caf::down_msg& x) { self->state.down(x); });
  self->set_exit_handler([=](const caf::exit_msg& x) {
    self->state.stop();
    self->quit(x.reason);
  });
  self->state.init(self, std::move(services));
  return {
    [=](const node_welcome& x) { self->state.welcome(x); },
    [=](const node_refused& x) { self->state.refused(x); },
    [=](const node_assignment& x) { self->state.assignment(x); },
    [=](const link_credit& x) { self->state.credit(x); },
    [=](const node_fault& x) { self->state.fault(x); },
    [=](const connect_outcome& x) { self->state.connected(x); },
    [=](const experts_loaded& x) { self->state.loaded(x); },
    [=](const shard_restart& x) { self->state.restart_shard(x); },
    [=](deadline_tick) { self->state.tick(); },
  };
}

} // namespace troupe
