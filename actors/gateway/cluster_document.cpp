#include "actors/gateway/cluster_document.hpp"

#include "runtime/version.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace troupe {

namespace {

using json = nlohmann::ordered_json;

double seconds(duration x) {
  return std::chrono::duration<double>(x).count();
}

void add_process(json& out, const process_figures& x) {
  out["checkpoint_bytes_read"] = x.bytes_read;
  out["resident_bytes"] = x.resident_bytes;
  out["huge_page_bytes"] = x.huge_bytes;
}

json head_json(const cluster_report& x) {
  const auto& head = x.head;
  json out{{"model", head.model},
           {"digest", head.digest},
           {"mode", head.mode},
           {"isa", head.isa},
           {"lanes", head.lanes},
           {"combine", head.combine},
           {"cluster_port", head.cluster_port},
           {"version", version_text},
           {"pid", getpid()},
           {"uptime_seconds", seconds(x.now - head.started)}};
  add_process(out, x.counts.process);
  return out;
}

/// Experts of all layers that the map gives to `node`.
uint64_t experts_held(const shard_map& map, node_id node) {
  uint64_t count = 0;
  for (auto layer : map.layers())
    count += map.experts_of(node, layer).size();
  return count;
}

uint64_t restarts_of(const std::string& name, const cluster_report& x) {
  auto found = std::find_if(x.workers.begin(), x.workers.end(),
                            [&](auto& worker) { return worker.name == name; });
  return found == x.workers.end() ? 0 : found->restarts;
}

json nodes_json(const cluster_report& x) {
  auto list = json::array();
  for (const auto& node : x.cluster->nodes) {
    auto found = x.counts.nodes.find(node.id);
    const auto counts =
      found == x.counts.nodes.end() ? node_statistics{} : found->second;
    const auto experts = experts_held(*x.cluster->map, node.id);
    list.push_back({{"id", node.id.value},
                    {"name", node.name},
                    {"state", to_string(node.state)},
                    {"incarnation", fmt::format("{:016x}", node.incarnation)},
                    {"experts", experts},
                    {"expert_bytes", experts * x.head.expert_bytes},
                    {"pairs", counts.pairs},
                    {"batches", counts.batches},
                    {"failures", counts.failures},
                    {"round_trip_seconds", seconds(counts.round_trip)},
                    {"queue_seconds", seconds(counts.queue_wait)},
                    {"compute_seconds", seconds(counts.compute)},
                    {"restarts", restarts_of(node.name, x)}});
    add_process(list.back(), counts.process);
  }
  return list;
}

json actors_json(const cluster_report& x) {
  auto children = json::array();
  for (const auto& child : x.actors)
    children.push_back(
      {{"name", child.id},
       {"running", child.running},
       {"restarts", child.restarts},
       {"last_reason", child.last_reason},
       {"uptime_seconds",
        child.running ? seconds(x.now - child.started) : 0.0}});
  return {{"name", "supervisor"},
          {"strategy", "one_for_one"},
          {"children", std::move(children)}};
}

json workers_json(const cluster_report& x) {
  auto list = json::array();
  for (const auto& worker : x.workers)
    list.push_back({{"name", worker.name},
                    {"pid", worker.pid},
                    {"restarts", worker.restarts},
                    {"last_end", worker.last_end},
                    {"given_up", worker.given_up}});
  return list;
}

json map_json(const cluster_report& x) {
  const auto& map = *x.cluster->map;
  auto layers = json::array();
  for (auto layer : map.layers()) {
    auto experts = json::object();
    for (auto id : map.nodes()) {
      const auto* node = x.cluster->find(id);
      auto& held = experts[node == nullptr ? "local" : node->name] =
        json::array();
      for (auto expert : map.experts_of(id, layer))
        held.push_back(expert.value);
    }
    layers.push_back({{"layer", layer.value}, {"experts", std::move(experts)}});
  }
  return {{"version", map.version()},
          {"policy", x.head.policy},
          {"experts", map.experts()},
          {"layers", std::move(layers)}};
}

json statistics_json(const statistics& x) {
  return {{"prefill_tokens", x.prefill_tokens},
          {"prefill_seconds", seconds(x.prefill_time)},
          {"decode_tokens", x.decode_tokens},
          {"decode_seconds", seconds(x.decode_time)},
          {"passes", x.passes},
          {"local_pairs", x.local_pairs},
          {"remote_pairs", x.remote_pairs},
          {"rerouted_pairs", x.rerouted_pairs},
          {"failures", x.failures},
          {"remote_wait_seconds", seconds(x.remote_wait)},
          {"row_bytes_sent", x.row_bytes_sent},
          {"output_bytes_received", x.output_bytes_received}};
}

} // namespace

std::string cluster_document(const cluster_report& x) {
  json all{
    {"head", head_json(x)},     {"nodes", nodes_json(x)},
    {"actors", actors_json(x)}, {"workers", workers_json(x)},
    {"map", map_json(x)},       {"statistics", statistics_json(x.counts)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace troupe
