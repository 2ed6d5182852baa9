#include "runtime/cli/statistics_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe::cli {

namespace {

double seconds(duration x) {
  return std::chrono::duration<double>(x).count();
}

double rate(uint64_t count, duration time) {
  return time > duration::zero() ? static_cast<double>(count) / seconds(time)
                                 : 0.0;
}

double mean_ms(duration sum, uint64_t count) {
  return count == 0 ? 0.0 : seconds(sum) * 1000 / static_cast<double>(count);
}

std::string name_of(node_id id, const cluster_snapshot& nodes) {
  auto node = nodes.find(id);
  return node == nullptr ? fmt::format("node {}", id.value) : node->name;
}

} // namespace

std::string statistics_json(const statistics& x,
                            const cluster_snapshot& nodes) {
  nlohmann::ordered_json all{
    {"prefill_tokens", x.prefill_tokens},
    {"prefill_seconds", seconds(x.prefill_time)},
    {"prefill_tokens_per_second", rate(x.prefill_tokens, x.prefill_time)},
    {"decode_tokens", x.decode_tokens},
    {"decode_seconds", seconds(x.decode_time)},
    {"decode_tokens_per_second", rate(x.decode_tokens, x.decode_time)},
    {"passes", x.passes},
    {"local_pairs", x.local_pairs},
    {"remote_pairs", x.remote_pairs},
    {"rerouted_pairs", x.rerouted_pairs},
    {"failures", x.failures},
    {"remote_wait_seconds", seconds(x.remote_wait)},
    {"row_bytes_sent", x.row_bytes_sent},
    {"output_bytes_received", x.output_bytes_received},
    {"checkpoint_bytes_read", x.process.bytes_read},
    {"huge_page_bytes", x.process.huge_bytes}};
  auto& per_node = all["nodes"] = nlohmann::ordered_json::object();
  for (auto& [id, node] : x.nodes)
    per_node[name_of(id, nodes)] = {
      {"pairs", node.pairs},
      {"batches", node.batches},
      {"failures", node.failures},
      {"round_trip_seconds", seconds(node.round_trip)},
      {"queue_seconds", seconds(node.queue_wait)},
      {"compute_seconds", seconds(node.compute)},
      {"checkpoint_bytes_read", node.process.bytes_read},
      {"huge_page_bytes", node.process.huge_bytes}};
  return all.dump();
}

std::string statistics_text(const statistics& x,
                            const cluster_snapshot& nodes) {
  auto text = fmt::format(
    "prompt {} tokens in {:.2f} s ({:.1f} tokens/s), decode {} tokens in "
    "{:.2f} s ({:.1f} tokens/s)\n"
    "pairs: {} remote, {} local, {} rerouted; {} failures; waited {:.2f} s for "
    "nodes\n",
    x.prefill_tokens, seconds(x.prefill_time),
    rate(x.prefill_tokens, x.prefill_time), x.decode_tokens,
    seconds(x.decode_time), rate(x.decode_tokens, x.decode_time),
    x.remote_pairs, x.local_pairs, x.rerouted_pairs, x.failures,
    seconds(x.remote_wait));
  for (auto& [id, node] : x.nodes)
    text += fmt::format(
      "{}: {} pairs in {} batches, {} failures; per batch {:.2f} ms round "
      "trip, {:.2f} ms queued, {:.2f} ms computing\n",
      name_of(id, nodes), node.pairs, node.batches, node.failures,
      mean_ms(node.round_trip, node.batches),
      mean_ms(node.queue_wait, node.batches),
      mean_ms(node.compute, node.batches));
  return text;
}

} // namespace troupe::cli
