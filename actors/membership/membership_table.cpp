#include "actors/membership/membership_table.hpp"

#include <algorithm>

namespace troupe {

membership_table::membership_table(options x) : options_(x) {
  // nop
}

node_id membership_table::expect(const std::string& name) {
  if (auto known = find(name))
    return known->id;
  member x;
  x.id = node_id{static_cast<uint32_t>(members_.size() + 1)};
  x.name = name;
  x.expected = true;
  members_.push_back(std::move(x));
  return members_.back().id;
}

result<node_id> membership_table::join(time_point now, const std::string& name,
                                       uint64_t incarnation) {
  auto known = find(name);
  if (known == nullptr && members_.size() == options_.nodes_max)
    return fail(ec::overloaded, "the cluster has {} nodes, its maximum",
                options_.nodes_max);
  if (known != nullptr && known->state != node_state::dead &&
      known->incarnation != incarnation)
    return fail(ec::invalid_argument,
                "node name {} is taken by a process that lives; choose another "
                "--name, or stop that process",
                name);
  auto fresh = known == nullptr;
  auto id = fresh ? expect(name) : known->id;
  auto& x = members_[id.value - 1];
  if (fresh)
    x.expected = false;
  x.incarnation = incarnation;
  x.wanted_map = x.loaded_map = 0;
  ++x.joins;
  x.state = node_state::joining;
  x.detector.emplace(options_.detector, now);
  return id;
}

void membership_table::assigned(node_id id, uint64_t map_version) {
  members_[id.value - 1].wanted_map = map_version;
}

bool membership_table::loaded(node_id id, uint64_t incarnation,
                              uint64_t map_version) {
  auto x = current(id, incarnation);
  if (x == nullptr)
    return false;
  x->loaded_map = std::max(x->loaded_map, map_version);
  return true;
}

bool membership_table::heartbeat(time_point now, node_id id,
                                 uint64_t incarnation, uint64_t expert_bytes) {
  auto x = current(id, incarnation);
  if (x == nullptr)
    return false;
  x->detector->heartbeat(now);
  x->expert_bytes = expert_bytes;
  return true;
}

void membership_table::missed_deadline(time_point now, node_id id,
                                       uint64_t incarnation) {
  if (auto x = current(id, incarnation))
    x->detector->missed_deadline(now);
}

void membership_table::connection_lost(node_id id, uint64_t incarnation) {
  if (auto x = current(id, incarnation))
    x->detector->connection_lost();
}

std::vector<member_change> membership_table::update(time_point now) {
  std::vector<member_change> result;
  for (auto& x : members_) {
    auto state = judge(x, now);
    if (state == x.state)
      continue;
    x.state = state;
    result.push_back({x.id, x.incarnation, state});
  }
  return result;
}

const member* membership_table::find(node_id id) const {
  auto index = static_cast<size_t>(id.value) - 1;
  return id != local_node && index < members_.size() ? &members_[index]
                                                     : nullptr;
}

const member* membership_table::find(const std::string& name) const {
  auto i = std::find_if(members_.begin(), members_.end(),
                        [&](auto& x) { return x.name == name; });
  return i == members_.end() ? nullptr : &*i;
}

bool membership_table::all_loaded(uint64_t map_version) const {
  return std::all_of(members_.begin(), members_.end(), [&](auto& x) {
    return x.state == node_state::dead || x.loaded_map >= map_version;
  });
}

bool membership_table::complete() const {
  return std::all_of(members_.begin(), members_.end(), [](auto& x) {
    return !x.expected || x.state == node_state::alive;
  });
}

member* membership_table::current(node_id id, uint64_t incarnation) {
  auto known = find(id);
  // A dead incarnation stays dead, even if it wakes up again.
  if (known == nullptr || known->incarnation != incarnation ||
      known->state == node_state::dead)
    return nullptr;
  return &members_[id.value - 1];
}

node_state membership_table::judge(const member& x, time_point now) const {
  if (x.state == node_state::dead)
    return node_state::dead;
  auto seen = x.detector->state(now);
  if (seen == node_state::dead)
    return seen;
  return x.loaded_map == 0 ? node_state::joining : seen;
}

} // namespace troupe
