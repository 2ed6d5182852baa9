// What a head and its nodes may be told, with units and defaults. One file
// (config/cluster.toml, config/serve.toml) holds any of the tables below; the
// command line overrides single members afterwards and then calls `check`.
#pragma once

#include "config/endpoint.hpp"
#include "config/toml_reader.hpp"
#include "runtime/error.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class numeric_dtype { bf16, f32 };
enum class exactness { exact, relaxed };
enum class combine_mode { exact, partial };
enum class wire_dtype { automatic, bf16, f32 }; ///< automatic: as the mode.
enum class placement_policy { round_robin, weighted, local };
enum class missing_expert { error };
enum class cache_pages { automatic, file, anonymous };

/// Names as written in files and on the command line.
inline constexpr enum_name<numeric_dtype> numeric_dtype_names[]{
  {"bf16", numeric_dtype::bf16}, {"f32", numeric_dtype::f32}};
inline constexpr enum_name<exactness> exactness_names[]{
  {"exact", exactness::exact}, {"relaxed", exactness::relaxed}};
inline constexpr enum_name<combine_mode> combine_mode_names[]{
  {"exact", combine_mode::exact}, {"partial", combine_mode::partial}};
inline constexpr enum_name<wire_dtype> wire_dtype_names[]{
  {"auto", wire_dtype::automatic},
  {"bf16", wire_dtype::bf16},
  {"f32", wire_dtype::f32}};
inline constexpr enum_name<placement_policy> placement_policy_names[]{
  {"round_robin", placement_policy::round_robin},
  {"weighted", placement_policy::weighted},
  {"local", placement_policy::local}};
inline constexpr enum_name<missing_expert> missing_expert_names[]{
  {"error", missing_expert::error}};
inline constexpr enum_name<cache_pages> cache_pages_names[]{
  {"auto", cache_pages::automatic},
  {"file", cache_pages::file},
  {"anonymous", cache_pages::anonymous}};

/// [head]
struct head_config {
  endpoint listen{"127.0.0.1", 8080};         ///< HTTP.
  endpoint cluster_listen{"127.0.0.1", 7600}; ///< Actor port; nodes dial it.
  std::string model;    ///< Checkpoint folder; empty: command line.
  uint32_t workers = 0; ///< Local node processes to start.
  uint32_t lanes = 0;   ///< Compute threads; 0: one per core.
  numeric_dtype dtype = numeric_dtype::bf16;
  exactness exact = exactness::exact;
  uint32_t prefill_chunk = 512;     ///< Rows of prompt per pass.
  byte_size kv_cache{0};            ///< Bound of the KV cache; 0: automatic.
  uint32_t http_connections = 256;  ///< Open at once; more are refused.
  uint32_t node_connections = 64;   ///< Open at once; more are refused.
  uint32_t requests_running = 64;   ///< Sequences in one batch.
  uint32_t requests_waiting = 256;  ///< Queue; more get "overloaded".
  byte_size request_body{8u << 20}; ///< Largest HTTP body.
  std::chrono::microseconds connect_deadline{5'000'000}; ///< Hello included.
  std::chrono::microseconds drain_deadline{3'000'000};   ///< Then it ends.
  bool insecure = false; ///< Allow listening beyond loopback without TLS.
};

/// [worker]: a node process.
struct node_config {
  std::string name; ///< Unique in the cluster; empty: host name and process.
  endpoint head{"127.0.0.1", 7600};
  std::string model;   ///< Its own copy; empty: command line.
  uint32_t lanes = 0;  ///< 0: one per core.
  byte_size memory{0}; ///< Bound of expert weights held; 0: no bound.
  std::chrono::microseconds reconnect_min{200'000};
  std::chrono::microseconds reconnect_max{10'000'000};
  bool insecure = false; ///< Allow dialling beyond loopback without TLS.
};

/// One [[node]]: a node the head expects, and its share of the experts.
struct expected_node {
  std::string name;
  double weight = 1.0; ///< Relative; for policy "weighted".
};

/// [supervision]
struct supervision_config {
  uint32_t intensity = 5; ///< More restarts than this within `period` escalate.
  std::chrono::microseconds period{30'000'000};
  std::chrono::microseconds backoff_min{100'000};
  std::chrono::microseconds backoff_max{10'000'000};
  double jitter = 0.2; ///< Each backoff is scaled by 1 +- jitter.
};

/// [dispatch]
struct dispatch_config {
  bool fallback_local = true; ///< false: a failed batch fails its request.
  missing_expert on_missing_expert = missing_expert::error;
  /// Deadline of a batch: factor x the observed percentile, clamped.
  std::chrono::microseconds deadline_floor{50'000};
  std::chrono::microseconds deadline_ceiling{2'000'000};
  double deadline_factor = 4.0;
  combine_mode combine = combine_mode::exact;
  wire_dtype wire = wire_dtype::automatic;
  byte_size fallback_memory{0}; ///< Bound of FALLBACK's store; 0: no bound.
};

/// [heartbeat]
struct heartbeat_config {
  std::chrono::microseconds interval{500'000};
  std::chrono::microseconds suspect_after{1'500'000}; ///< No new pairs.
  std::chrono::microseconds dead_after{5'000'000};
};

/// [placement]
struct placement_config {
  placement_policy policy = placement_policy::round_robin;
};

/// [cache]: packed weights on this machine's disk, for head and nodes.
struct cache_config {
  bool enabled = true;
  std::string dir;        ///< Empty: the user's cache folder.
  byte_size bytes_max{0}; ///< Of the folder; 0: no bound.
  cache_pages pages = cache_pages::automatic;
};

/// A whole file.
struct cluster_config {
  head_config head;
  node_config worker;
  std::vector<expected_node> nodes;
  supervision_config supervision;
  dispatch_config dispatch;
  heartbeat_config heartbeat;
  placement_config placement;
  cache_config cache;
};

/// Reads a file. Fails with io, not_found, bad_format or invalid_argument.
result<cluster_config> read_cluster_config(const std::string& path);

/// The same for text; `name` stands for the file in messages.
result<cluster_config> parse_cluster_config(std::string_view text,
                                            std::string name);

/// The rule that a file is also held to: without `insecure`, only loopback.
/// For commands that override endpoints after reading.
result<void> check_loopback(const head_config& x);
result<void> check_loopback(const node_config& x);

} // namespace troupe
