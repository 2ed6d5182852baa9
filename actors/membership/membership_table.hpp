// The nodes of the cluster as MEMBERSHIP knows them: who joined, under which id
// and incarnation, what each has loaded, who is late or gone. Pure: messages
// and times in, decisions out.
//
//   join -> joining -> (loaded its experts) -> alive <-> suspect -> dead
//                                                          join again: joining
//
// A name has one id for ever; it is free again when its process is dead.
#pragma once

#include "actors/membership/cluster_snapshot.hpp"
#include "runtime/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// One node and its present incarnation.
struct member {
  node_id id;
  std::string name;
  uint64_t incarnation = 0;  ///< 0: never joined.
  bool expected = false;     ///< Named by configuration or `--workers`.
  uint64_t wanted_map = 0;   ///< Map whose experts it was told to load.
  uint64_t loaded_map = 0;   ///< Map whose experts it serves.
  uint64_t joins = 0;        ///< Incarnations so far.
  uint64_t expert_bytes = 0; ///< As the last heartbeat said.
  node_state state = node_state::dead;
  std::optional<failure_detector> detector;
};

/// A change of state to be published and acted upon.
struct member_change {
  node_id id;
  uint64_t incarnation = 0;
  node_state state = node_state::dead;
};

class membership_table {
public:
  struct options {
    failure_detector::options detector;
    size_t nodes_max = 256;
  };

  explicit membership_table(options x);

  /// Reserves an id for a node that will come.
  node_id expect(const std::string& name);

  /// Takes a node in. Fails with invalid_argument when a live process holds the
  /// name, and with overloaded beyond `nodes_max`.
  result<node_id> join(time_point now, const std::string& name,
                       uint64_t incarnation);

  /// The node was told to load the experts of `map_version`.
  void assigned(node_id id, uint64_t map_version);

  /// The node serves `map_version`. Returns false for a stale incarnation.
  bool loaded(node_id id, uint64_t incarnation, uint64_t map_version);

  /// Returns false for a stale incarnation.
  bool heartbeat(time_point now, node_id id, uint64_t incarnation,
                 uint64_t expert_bytes);
  void missed_deadline(time_point now, node_id id, uint64_t incarnation);
  void connection_lost(node_id id, uint64_t incarnation);

  /// Looks at the time; returns the nodes whose state is another one now.
  std::vector<member_change> update(time_point now);

  const member* find(node_id id) const;
  const member* find(const std::string& name) const;
  const std::vector<member>& members() const {
    return members_;
  }

  /// True when every node that is not dead serves `map_version` or a later map.
  bool all_loaded(uint64_t map_version) const;

  /// True when every expected node serves.
  bool complete() const;

private:
  member* current(node_id id, uint64_t incarnation);
  node_state judge(const member& x, time_point now) const;

  options options_;
  std::vector<member> members_; ///< members_[i].id == i + 1
};

} // namespace troupe
