// The table of metric families: the one place where names, labels and buckets
// are written down.
#include "runtime/trace/metrics.hpp"

namespace troupe {

namespace {

// Seconds. From a cached prompt on a small model to a long one on a busy head.
constexpr double ttft_buckets[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                   1,     2.5,  5,     10,   25,  50,   100};
constexpr double tpot_buckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                   0.1,   0.25,   0.5,   1,    2.5,   5};

constexpr auto counter = metric_kind::counter;
constexpr auto gauge = metric_kind::gauge;
constexpr auto histogram = metric_kind::histogram;

constexpr metric_family table[] = {
  {metric::requests,
   counter,
   "troupe_requests_total",
   "Completion requests by how they ended.",
   {"outcome"}},
  {metric::requests_running,
   gauge,
   "troupe_requests_running",
   "Completion requests accepted and not ended.",
   {}},
  {metric::tokens,
   counter,
   "troupe_tokens_total",
   "Prompt tokens processed and tokens generated.",
   {"phase"}},
  {metric::ttft_seconds,
   histogram,
   "troupe_ttft_seconds",
   "Time from a request to its first token.",
   {},
   ttft_buckets},
  {metric::tpot_seconds,
   histogram,
   "troupe_tpot_seconds",
   "Mean time per token of a request after its first.",
   {},
   tpot_buckets},
  {metric::pairs,
   counter,
   "troupe_pairs_total",
   "Token-expert pairs by where they were computed.",
   {"destination"}},
  {metric::batches,
   counter,
   "troupe_batches_total",
   "Batches sent to nodes by what became of them.",
   {"node", "outcome"}},
  {metric::remote_wait_seconds,
   counter,
   "troupe_remote_wait_seconds_total",
   "Time layers waited for their remote experts.",
   {}},
  {metric::expert_compute_seconds,
   counter,
   "troupe_expert_compute_seconds_total",
   "Time nodes report for computing their batches.",
   {"node"}},
  {metric::node_state,
   gauge,
   "troupe_node_state",
   "1 for the state a node is in, 0 for the others.",
   {"node", "state"}},
  {metric::node_restarts,
   counter,
   "troupe_node_restarts_total",
   "Times a local node process was started again.",
   {"node"}},
  {metric::http_requests,
   counter,
   "troupe_http_requests_total",
   "HTTP responses.",
   {"route", "status"}},
  {metric::http_connections,
   gauge,
   "troupe_http_connections",
   "Open HTTP connections.",
   {}},
  {metric::checkpoint_bytes_read,
   gauge,
   "troupe_checkpoint_bytes_read",
   "Bytes of the checkpoint that the process has read since its start.",
   {"process"}},
  {metric::huge_page_bytes,
   gauge,
   "troupe_huge_page_bytes",
   "Memory in huge pages when the process had last loaded weights.",
   {"process"}}};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(table); ++i)
    if (static_cast<size_t>(table[i].id) != i)
      return false;
  return std::size(table) == metric_count;
}
static_assert(in_order(), "one row per metric, in the order of the enum");

} // namespace

std::span<const metric_family> metric_families() {
  return table;
}

} // namespace troupe
