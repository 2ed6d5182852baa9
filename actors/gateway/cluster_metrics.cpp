#include "actors/gateway/cluster_metrics.hpp"

namespace troupe {

namespace {

constexpr node_state all_states[] = {node_state::joining, node_state::alive,
                                     node_state::suspect, node_state::dead};

/// Adds what `now` has over `before`, if anything.
void grow(const metrics::series& x, uint64_t now, uint64_t before) {
  if (now > before)
    x.add(static_cast<double>(now - before));
}

void grow(const metrics::series& x, duration now, duration before) {
  if (now > before)
    x.add(std::chrono::duration<double>(now - before).count());
}

} // namespace

cluster_metrics::cluster_metrics(metrics& counts) : counts_(counts) {
  // nop
}

void cluster_metrics::update(const statistics& now,
                             const cluster_snapshot& nodes,
                             const std::vector<worker_status>& workers) {
  grow(counts_.at(metric::pairs, {"local"}), now.local_pairs,
       seen_.local_pairs);
  grow(counts_.at(metric::pairs, {"remote"}), now.remote_pairs,
       seen_.remote_pairs);
  grow(counts_.at(metric::pairs, {"rerouted"}), now.rerouted_pairs,
       seen_.rerouted_pairs);
  grow(counts_.at(metric::remote_wait_seconds), now.remote_wait,
       seen_.remote_wait);
  show_process("head", now.process);
  for (const auto& node : nodes.nodes) {
    for (auto state : all_states)
      counts_.at(metric::node_state, {node.name, to_string(state)})
        .set(node.state == state ? 1 : 0);
    auto found = now.nodes.find(node.id);
    if (found == now.nodes.end())
      continue;
    show_process(node.name, found->second.process);
    const auto& before = seen_.nodes[node.id];
    grow(counts_.at(metric::batches, {node.name, "answered"}),
         found->second.batches, before.batches);
    grow(counts_.at(metric::batches, {node.name, "failed"}),
         found->second.failures, before.failures);
    grow(counts_.at(metric::expert_compute_seconds, {node.name}),
         found->second.compute, before.compute);
  }
  for (const auto& worker : workers) {
    auto& before = restarts_[worker.name];
    grow(counts_.at(metric::node_restarts, {worker.name}), worker.restarts,
         before);
    before = worker.restarts;
  }
  seen_ = now;
}

void cluster_metrics::show_process(const std::string& name,
                                   const process_figures& x) {
  counts_.at(metric::checkpoint_bytes_read, {name})
    .set(static_cast<double>(x.bytes_read));
  counts_.at(metric::huge_page_bytes, {name})
    .set(static_cast<double>(x.huge_bytes));
}

} // namespace troupe
