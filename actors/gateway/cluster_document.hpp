// The document of GET /cluster: head, nodes, actors, local processes and shard
// map as one JSON object. Pure: everything is passed in.
#pragma once

#include "actors/cluster_statistics.hpp"
#include "actors/membership/cluster_snapshot.hpp"
#include "actors/supervision/supervisor.hpp"
#include "actors/supervision/worker_processes.hpp"
#include "runtime/clock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What does not change while the head runs.
struct head_identity {
  std::string model; ///< Folder.
  std::string digest;
  std::string_view mode;
  std::string_view isa;
  size_t lanes = 0;
  std::string policy; ///< Of placement.
  std::string combine = "exact";
  uint16_t cluster_port = 0; ///< 0: no node can come from outside.
  uint64_t expert_bytes = 0; ///< Of one packed expert.
  time_point started;
};

struct cluster_report {
  head_identity head;
  std::shared_ptr<const cluster_snapshot> cluster;
  statistics counts;
  std::vector<child_status> actors;
  std::vector<worker_status> workers;
  time_point now;
};

/// Members: "head", "nodes", "actors", "workers", "map", "statistics".
std::string cluster_document(const cluster_report& x);

} // namespace troupe
