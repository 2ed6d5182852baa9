#include "config/cluster_config.hpp"

#include <set>

namespace troupe {

namespace {

using std::chrono::microseconds;

constexpr interval<microseconds> durations{microseconds{1'000},
                                           microseconds{3'600'000'000}};
constexpr interval<byte_size> sizes{byte_size{0}, byte_size{uint64_t{1} << 50}};

/// 0 means "one per core"; more than this is surely a mistake.
constexpr uint32_t lanes_max = 1024;
constexpr size_t nodes_max = 4096;
constexpr size_t name_bytes_max = 64;

void read_endpoint(toml_section& table, std::string_view key, endpoint& out) {
  std::string text;
  table.read(key, text);
  if (text.empty() && !table.has(key))
    return;
  if (auto x = parse_endpoint(text))
    out = *x;
  else
    table.refuse(key, x.error().message);
}

/// Names appear in metrics, JSON and commands: no blanks, no controls.
bool is_node_name(std::string_view x) {
  if (x.empty() || x.size() > name_bytes_max)
    return false;
  for (char c : x)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
      return false;
  return true;
}

void read_node_name(toml_section& table, std::string& out, presence needed) {
  table.read("name", out, needed);
  if (table.has("name") && !is_node_name(out))
    table.refuse("name",
                 fmt::format("expected 1 to {} letters, digits, '-', '_' or "
                             "'.', found \"{}\"",
                             name_bytes_max, out.substr(0, 80)));
}

void read_head(toml_section table, head_config& x) {
  read_endpoint(table, "listen", x.listen);
  read_endpoint(table, "cluster_listen", x.cluster_listen);
  table.read("model", x.model);
  table.read("workers", x.workers, within(0u, 256u));
  table.read("lanes", x.lanes, within(0u, lanes_max));
  table.read("dtype", x.dtype, numeric_dtype_names);
  table.read("exactness", x.exact, exactness_names);
  table.read("prefill_chunk", x.prefill_chunk, within(1u, 4096u));
  table.read("kv_cache", x.kv_cache, sizes);
  table.read("http_connections", x.http_connections, within(1u, 65536u));
  table.read("node_connections", x.node_connections, within(1u, 4096u));
  table.read("requests_running", x.requests_running, within(1u, 4096u));
  table.read("requests_waiting", x.requests_waiting, within(0u, 65536u));
  table.read("request_body", x.request_body,
             within(byte_size{1024}, byte_size{1u << 30}));
  table.read("connect_deadline", x.connect_deadline, durations);
  table.read("drain_deadline", x.drain_deadline, durations);
  table.read("insecure", x.insecure);
  if (auto checked = check_loopback(x); !checked)
    table.refuse("insecure", checked.error().message);
}

void read_worker(toml_section table, node_config& x) {
  read_node_name(table, x.name, presence::optional);
  read_endpoint(table, "head", x.head);
  table.read("model", x.model);
  table.read("lanes", x.lanes, within(0u, lanes_max));
  table.read("memory", x.memory, sizes);
  table.read("reconnect_min", x.reconnect_min, durations);
  table.read("reconnect_max", x.reconnect_max, durations);
  table.read("insecure", x.insecure);
  if (x.reconnect_max < x.reconnect_min)
    table.refuse("reconnect_max",
                 fmt::format("expected at least reconnect_min ({}), found {}",
                             to_string(x.reconnect_min),
                             to_string(x.reconnect_max)));
  if (auto checked = check_loopback(x); !checked)
    table.refuse("insecure", checked.error().message);
}

void read_nodes(toml_section root, std::vector<expected_node>& nodes) {
  std::set<std::string> seen;
  for (auto& table : root.sections("node")) {
    expected_node x;
    read_node_name(table, x.name, presence::required);
    table.read("weight", x.weight, within(0.0, 1e6));
    if (!x.name.empty() && !seen.insert(x.name).second)
      table.refuse("name", fmt::format("two nodes are called \"{}\"; each name "
                                       "may stand once",
                                       x.name));
    if (nodes.size() == nodes_max) {
      root.refuse("node", fmt::format("more than {} nodes", nodes_max));
      return;
    }
    nodes.push_back(std::move(x));
  }
}

void read_supervision(toml_section table, supervision_config& x) {
  table.read("intensity", x.intensity, within(0u, 1000u));
  table.read("period", x.period, durations);
  table.read("backoff_min", x.backoff_min, durations);
  table.read("backoff_max", x.backoff_max, durations);
  table.read("jitter", x.jitter, within(0.0, 1.0));
  if (x.backoff_max < x.backoff_min)
    table.refuse("backoff_max",
                 fmt::format("expected at least backoff_min ({}), found {}",
                             to_string(x.backoff_min),
                             to_string(x.backoff_max)));
}

void read_dispatch(toml_section table, dispatch_config& x) {
  table.read("fallback_local", x.fallback_local);
  table.read("on_missing_expert", x.on_missing_expert, missing_expert_names);
  table.read("deadline_floor", x.deadline_floor, durations);
  table.read("deadline_ceiling", x.deadline_ceiling, durations);
  table.read("deadline_factor", x.deadline_factor, within(1.0, 1000.0));
  table.read("combine", x.combine, combine_mode_names);
  table.read("wire_dtype", x.wire, wire_dtype_names);
  table.read("fallback_memory", x.fallback_memory, sizes);
  if (x.deadline_ceiling < x.deadline_floor)
    table.refuse("deadline_ceiling",
                 fmt::format("expected at least deadline_floor ({}), found {}",
                             to_string(x.deadline_floor),
                             to_string(x.deadline_ceiling)));
}

void read_heartbeat(toml_section table, heartbeat_config& x) {
  table.read("interval", x.interval, durations);
  table.read("suspect_after", x.suspect_after, durations);
  table.read("dead_after", x.dead_after, durations);
  if (x.suspect_after <= x.interval)
    table.refuse("suspect_after",
                 fmt::format("expected more than interval ({}), found {}",
                             to_string(x.interval),
                             to_string(x.suspect_after)));
  if (x.dead_after <= x.suspect_after)
    table.refuse("dead_after",
                 fmt::format("expected more than suspect_after ({}), found {}",
                             to_string(x.suspect_after),
                             to_string(x.dead_after)));
}

void read_cache(toml_section table, cache_config& x) {
  table.read("enabled", x.enabled);
  table.read("dir", x.dir);
  table.read("bytes_max", x.bytes_max, sizes);
  table.read("pages", x.pages, cache_pages_names);
}

result<cluster_config> read_all(toml_file file) {
  cluster_config x;
  auto root = file.root();
  read_head(root.section("head"), x.head);
  read_worker(root.section("worker"), x.worker);
  read_nodes(root, x.nodes);
  read_supervision(root.section("supervision"), x.supervision);
  read_dispatch(root.section("dispatch"), x.dispatch);
  read_heartbeat(root.section("heartbeat"), x.heartbeat);
  read_cache(root.section("cache"), x.cache);
  auto placement = root.section("placement");
  placement.read("policy", x.placement.policy, placement_policy_names);
  if (auto finished = file.finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return x;
}

result<void> refuse_remote(std::string_view what, const endpoint& x) {
  return fail(ec::invalid_argument,
              "{} {} is not loopback, and there is no TLS: everybody who "
              "reaches it could use it. Set insecure = true to allow it",
              what, to_string(x));
}

} // namespace

result<cluster_config> read_cluster_config(const std::string& path) {
  auto file = toml_file::read(path);
  if (!file)
    return tl::unexpected(std::move(file).error());
  return read_all(std::move(*file));
}

result<cluster_config> parse_cluster_config(std::string_view text,
                                            std::string name) {
  auto file = toml_file::parse(text, std::move(name));
  if (!file)
    return tl::unexpected(std::move(file).error());
  return read_all(std::move(*file));
}

result<void> check_loopback(const head_config& x) {
  if (!x.insecure && !is_loopback(x.listen))
    return refuse_remote("listen", x.listen);
  if (!x.insecure && !is_loopback(x.cluster_listen))
    return refuse_remote("cluster_listen", x.cluster_listen);
  return {};
}

result<void> check_loopback(const node_config& x) {
  if (!x.insecure && !is_loopback(x.head))
    return refuse_remote("head", x.head);
  return {};
}

} // namespace troupe
