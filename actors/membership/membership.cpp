#include "actors/membership/membership.hpp"

#include "actors/transport/cluster_system.hpp"
#include "runtime/assert.hpp"

#include <caf/system_messages.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

namespace {

/// How often heartbeats are looked at.
constexpr auto tick_interval = std::chrono::milliseconds(50);

shared_bytes holds_of(const shard_map& map, node_id id) {
  auto layers = map.layers();
  auto data = shared_bytes::allocate(layers.size() * map.experts());
  TROUPE_ASSERT(data != nullptr);
  std::memset(data.get(), 0, layers.size() * map.experts());
  for (size_t i = 0; i < layers.size(); ++i)
    for (auto expert : map.experts_of(id, layers[i]))
      data.get()[i * map.experts() + expert.value] = std::byte{1};
  return {std::move(data), layers.size() * map.experts()};
}

} // namespace

uint64_t short_incarnation(const hello& x) {
  uint64_t result = 0;
  std::memcpy(&result, x.incarnation.data(), sizeof result);
  return result;
}

void membership_state::init(self_ptr self, membership_services services) {
  self_ = self;
  services_ = std::move(services);
  table_ = std::make_unique<membership_table>(services_.table);
  for (auto& node : services_.expected)
    table_->expect(node);
  make_map();
  services_.view->update([&](cluster_snapshot& x) {
    x.map = wanted_map_;
    for (auto& member : table_->members())
      x.nodes.push_back({member.id, member.name, node_state::joining, 0});
  });
  tick();
}

// -- joining ----------------------------------------------------------------

void membership_state::join(const node_join& x) {
  if (!x.node)
    return; // undecodable
  hello theirs;
  auto id = admit(x, theirs);
  if (!id) {
    send_to(
      self_, x.node,
      node_refused{static_cast<uint8_t>(id.error().code), id.error().message});
    return;
  }
  auto incarnation = short_incarnation(theirs);
  self_->monitor(caf::actor_cast<caf::actor_addr>(x.node));
  peer_link::options link;
  link.id = id->value;
  link.incarnation = incarnation;
  link.control = x.node;
  connections_[*id] = {*id, incarnation, x.node,
                       std::make_shared<peer_link>(std::move(link))};
  services_.view->update([&](cluster_snapshot& view) {
    auto index = id->value - 1;
    if (view.nodes.size() <= index)
      view.nodes.push_back({*id, theirs.node_name, node_state::joining, 0});
    view.nodes[index].state = node_state::joining;
    view.nodes[index].incarnation = incarnation;
  });
  auto bytes = encode(services_.self);
  auto beat =
    std::chrono::duration_cast<std::chrono::nanoseconds>(services_.heartbeat);
  send_to(self_, x.node,
          node_welcome{shared_bytes::copy_of(bytes), id->value, incarnation,
                       static_cast<uint64_t>(beat.count())});
  auto known_to_map = wanted_map_->nodes();
  auto guest = !table_->find(*id)->expected &&
               std::find(known_to_map.begin(), known_to_map.end(), *id) ==
                 known_to_map.end();
  if (guest) {
    // A guest: everybody gets a share of the new map.
    make_map();
    for (auto& known : connections_)
      assign(known.first);
  } else {
    assign(*id);
  }
  update();
}

result<node_id> membership_state::admit(const node_join& x, hello& theirs) {
  auto decoded = decode_hello(x.hello.bytes());
  if (!decoded)
    return tl::unexpected(std::move(decoded.error()));
  theirs = std::move(*decoded);
  auto expected = services_.self;
  if (services_.relaxed)
    expected.numeric_fingerprint = theirs.numeric_fingerprint;
  if (auto ok = check_hello(expected, theirs); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto incarnation = short_incarnation(theirs);
  // The process that held the name may be gone without our knowing yet.
  update();
  auto id = table_->join(steady::now(), theirs.node_name, incarnation);
  if (id)
    forget(*id, 0);
  return id;
}

void membership_state::make_map() {
  std::vector<node_id> slots;
  // Expected nodes keep their share while they are away; guests do not.
  for (auto& x : table_->members())
    if (x.expected || x.state != node_state::dead)
      slots.push_back(x.id);
  auto version = wanted_map_ ? wanted_map_->version() + 1 : 1;
  auto spec = services_.placement;
  // Weights speak of the expected nodes; guests share alike.
  if (spec.kind == placement_spec::policy::weighted)
    spec.weights.resize(slots.size(), 1.0);
  auto map =
    make_shard_map(spec, slots, services_.layers, services_.experts, version);
  TROUPE_ASSERT(map.has_value());
  wanted_map_ = std::make_shared<const shard_map>(std::move(*map));
}

void membership_state::assign(node_id id) {
  auto& to = connections_.at(id);
  table_->assigned(id, wanted_map_->version());
  node_assignment x;
  x.map_version = wanted_map_->version();
  x.layers = static_cast<uint32_t>(services_.layers.size());
  x.experts = services_.experts;
  x.holds = holds_of(*wanted_map_, id);
  send_to(self_, to.node, std::move(x));
}

void membership_state::ready(const node_ready& x) {
  auto from = find(x.id, x.incarnation);
  if (from == nullptr || x.shards.size() != services_.layers.size() ||
      std::any_of(x.shards.begin(), x.shards.end(),
                  [](auto& shard) { return shard == nullptr; }))
    return;
  if (!table_->loaded(from->id, x.incarnation, x.map_version))
    return;
  peer reachable{from->incarnation, from->node, {}, from->link};
  for (size_t i = 0; i < x.shards.size(); ++i)
    reachable.shards[services_.layers[i]] = x.shards[i];
  services_.peers->update(
    [&](peer_table& table) { table.peers[from->id] = reachable; });
  update();
}

void membership_state::switch_map() {
  if (services_.view->read()->map == wanted_map_ ||
      !table_->all_loaded(wanted_map_->version()))
    return;
  services_.view->update([&](cluster_snapshot& x) { x.map = wanted_map_; });
}

// -- watching ---------------------------------------------------------------

void membership_state::heartbeat(const node_heartbeat& x) {
  if (find(x.id, x.incarnation) != nullptr) {
    table_->heartbeat(steady::now(), node_id{x.id}, x.incarnation,
                      x.expert_bytes);
    if (services_.stats)
      services_.stats->update([&](statistics& all) {
        all.nodes[node_id{x.id}].process = {x.bytes_read, x.resident_bytes,
                                            x.huge_bytes};
      });
  } else {
    // It woke up after it was taken for dead: it has to join again.
    send_to(self_, self_->current_sender(),
            node_refused{static_cast<uint8_t>(ec::node_down),
                         "the head has taken this node for dead; joining "
                         "again"});
  }
}

void membership_state::credit(const link_credit& x) {
  if (auto from = find(x.id, x.incarnation))
    from->link->credit(x.bytes);
}

void membership_state::late(const node_late& x) {
  table_->missed_deadline(steady::now(), x.node, x.incarnation);
  update();
}

void membership_state::fault(const fault_order& x) {
  for (auto& [id, to] : connections_)
    if (x.node == "*" || table_->find(id)->name == x.node)
      send_to(self_, to.node, node_fault{x.action});
}

void membership_state::down(const caf::actor_addr& node) {
  for (auto& [id, x] : connections_)
    if (x.node && x.node->address() == node)
      table_->connection_lost(id, x.incarnation);
  update();
}

void membership_state::tick() {
  update();
  for (auto& [id, to] : connections_)
    to.link->tick(steady::now());
  self_->delayed_send(self_, tick_interval, deadline_tick{});
}

void membership_state::update() {
  for (auto& change : table_->update(steady::now()))
    publish(change);
  switch_map();
}

void membership_state::publish(const member_change& x) {
  set_state(*services_.view, x.id, x.incarnation, x.state);
  if (x.state == node_state::dead)
    forget(x.id, x.incarnation);
  if (services_.on_change)
    services_.on_change(*table_->find(x.id));
}

void membership_state::forget(node_id id, uint64_t incarnation) {
  auto i = connections_.find(id);
  if (i == connections_.end() ||
      (incarnation != 0 && i->second.incarnation != incarnation))
    return;
  auto gone = i->second.incarnation;
  i->second.link->close();
  connections_.erase(i);
  services_.peers->update([&](peer_table& table) { table.peers.erase(id); });
  for (auto& [layer, dispatcher] : services_.directory->read()->dispatchers)
    send_to(self_, dispatcher, node_lost{id, gone});
}

membership_state::connection* membership_state::find(uint32_t id,
                                                     uint64_t incarnation) {
  auto i = connections_.find(node_id{id});
  return i != connections_.end() && i->second.incarnation == incarnation
           ? &i->second
           : nullptr;
}

membership_actor::behavior_type
membership(membership_actor::stateful_pointer<membership_state> self,
           membership_services services) {
  use_quiet_handlers(*self);
  self->set_down_handler(
    [=](const caf::down_msg& x) { self->state.down(x.source); });
  self->state.init(self, std::move(services));
  return {
    [=](const node_join& x) { self->state.join(x); },
    [=](const node_ready& x) { self->state.ready(x); },
    [=](const node_heartbeat& x) { self->state.heartbeat(x); },
    [=](const link_credit& x) { self->state.credit(x); },
    [=](const node_late& x) { self->state.late(x); },
    [=](const fault_order& x) { self->state.fault(x); },
    [=](deadline_tick) { self->state.tick(); },
  };
}

} // namespace troupe
