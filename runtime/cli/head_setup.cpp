#include "runtime/cli/head_setup.hpp"

#include "runtime/cli/command.hpp"
#include "runtime/model/model_facts.hpp"

#include <fmt/ranges.h>
#include <sstream>
#include <unistd.h>

namespace troupe::cli {

namespace {

/// How long `generate` and `serve` wait for expected nodes before they go on
/// without: local experts serve meanwhile.
constexpr auto nodes_deadline = std::chrono::seconds(120);

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in{text};
  std::string item;
  while (std::getline(in, item, ','))
    result.push_back(item);
  return result;
}

result<void> override_config(const head_arguments& x, cluster_config& config) {
  auto& head = config.head;
  if (!x.model.folder.empty())
    head.model = x.model.folder;
  if (head.model.empty())
    return fail(ec::invalid_argument,
                "--model: which model? Give a checkpoint folder, e.g. --model "
                "models/demo");
  if (x.workers)
    head.workers = *x.workers;
  if (x.model.lanes != 0)
    head.lanes = x.model.lanes;
  if (!x.model.dtype.empty())
    head.dtype =
      x.model.dtype == "f32" ? numeric_dtype::f32 : numeric_dtype::bf16;
  if (x.prefill_chunk)
    head.prefill_chunk = *x.prefill_chunk;
  if (!x.cluster_listen.empty()) {
    auto parsed = parse_endpoint(x.cluster_listen);
    if (!parsed)
      return wrap("--cluster-listen", std::move(parsed.error()));
    head.cluster_listen = *parsed;
  } else if (head.workers > 0 && x.config_file.empty()) {
    head.cluster_listen.port = 0; // nobody else needs to know it
  }
  if (x.no_fallback)
    config.dispatch.fallback_local = false;
  if (x.wire_dtype == "bf16")
    config.dispatch.wire = wire_dtype::bf16;
  if (x.wire_dtype == "f32")
    config.dispatch.wire = wire_dtype::f32;
  if (config.dispatch.combine == combine_mode::partial)
    return fail(ec::unsupported,
                "dispatch.combine = \"partial\" is not built yet; use "
                "\"exact\"");
  return check_loopback(head);
}

result<placement_spec> placement_of(const head_arguments& x,
                                    const cluster_config& config) {
  if (!x.placement.empty())
    return parse_placement(x.placement);
  placement_spec spec;
  switch (config.placement.policy) {
  case placement_policy::round_robin:
    break;
  case placement_policy::local:
    spec.kind = placement_spec::policy::local;
    break;
  case placement_policy::weighted:
    spec.kind = placement_spec::policy::weighted;
    for (auto& node : config.nodes)
      spec.weights.push_back(node.weight);
    break;
  }
  return spec;
}

kernels::dtype reply_type_of(const cluster_config& config,
                             kernels::numeric_mode mode) {
  switch (config.dispatch.wire) {
  case wire_dtype::bf16:
    return kernels::dtype::bf16;
  case wire_dtype::f32:
    return kernels::dtype::f32;
  case wire_dtype::automatic:
    break;
  }
  return row_type(mode);
}

/// Where a local node finds the head that listens at `host`.
std::string dial_host(const std::string& host) {
  if (host == "0.0.0.0")
    return "127.0.0.1";
  if (host == "::")
    return "[::1]";
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

/// Room for a few sequences of the model's full length, but no more than a
/// quarter of the memory that is free.
uint64_t automatic_cache_bytes(const head_options& x) {
  constexpr uint64_t sequences = 4;
  constexpr uint64_t least = uint64_t{256} << 20;
  auto facts = facts_of(*x.model);
  auto token_bytes = x.cache.type == kernels::dtype::f32 ? facts.kv_bytes_f32
                                                         : facts.kv_bytes_bf16;
  auto wanted = sequences * x.model->config.max_positions * token_bytes;
  // States get half of the cache at most: room for those who run at once.
  wanted +=
    2 * x.cache.sequences_max * state_layout{x.model->config}.sequence_bytes();
  auto free_pages = sysconf(_SC_AVPHYS_PAGES);
  auto page = sysconf(_SC_PAGESIZE);
  auto free_bytes =
    free_pages > 0 && page > 0
      ? static_cast<uint64_t>(free_pages) * static_cast<uint64_t>(page)
      : least;
  return std::max(least, std::min(wanted, free_bytes / 4));
}

/// All processes of a head use one cache.
void add_cache_arguments(const image_cache_options& x,
                         std::vector<std::string>& out) {
  if (x.folder.empty()) {
    out.emplace_back("--no-cache");
    return;
  }
  const auto* pages = x.pages == image_pages::file        ? "file"
                      : x.pages == image_pages::anonymous ? "anonymous"
                                                          : "auto";
  out.insert(out.end(), {"--cache-dir", x.folder, "--cache-pages", pages});
  if (x.bytes_max != UINT64_MAX)
    out.insert(out.end(), {"--cache-bytes-max", std::to_string(x.bytes_max)});
}

/// The command line of local node `number`, from 1.
worker_spec make_worker(const head_arguments& x, const head_options& options,
                        const head_config& head, uint32_t number) {
  worker_spec spec;
  spec.name = fmt::format("w{}", number);
  auto isas = split_list(x.worker_isas);
  auto lanes = x.worker_lanes.value_or(static_cast<uint32_t>(
    std::max<size_t>(1, options.lanes.count / head.workers)));
  spec.arguments = {"worker",
                    "--head",
                    dial_host(head.cluster_listen.host) + ":{port}",
                    "--model",
                    options.model->folder,
                    "--name",
                    spec.name,
                    "--lanes",
                    std::to_string(lanes),
                    "--dtype",
                    std::string{kernels::to_string(options.compute.mode)},
                    "--isa",
                    isas.empty()
                      ? std::string{kernels::to_string(options.compute.isa)}
                      : isas[(number - 1) % isas.size()],
                    "--child-of",
                    std::to_string(getpid())};
  add_cache_arguments(options.images, spec.arguments);
  if (head.insecure)
    spec.arguments.push_back("--insecure");
  if (options.relaxed)
    spec.arguments.push_back("--relaxed");
  auto slow = options.faults.slow.find(spec.name);
  if (slow == options.faults.slow.end())
    slow = options.faults.slow.find("*");
  if (slow != options.faults.slow.end()) {
    auto ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(slow->second);
    spec.arguments.push_back("--slow-pair-ns");
    spec.arguments.push_back(std::to_string(ns.count()));
  }
  return spec;
}

result<void> set_nodes(const head_arguments& x, const cluster_config& config,
                       head_options& out) {
  for (auto& node : config.nodes)
    out.expected_nodes.push_back(node.name);
  for (uint32_t i = 1; i <= config.head.workers; ++i) {
    out.workers.push_back(make_worker(x, out, config.head, i));
    auto& name = out.workers.back().name;
    if (std::find(out.expected_nodes.begin(), out.expected_nodes.end(), name) ==
        out.expected_nodes.end())
      out.expected_nodes.push_back(name);
  }
  if (out.placement.kind == placement_spec::policy::weighted &&
      out.placement.weights.size() != out.expected_nodes.size())
    return fail(ec::invalid_argument,
                "--placement: {} weights for {} nodes; give one per node, in "
                "the order of their names",
                out.placement.weights.size(), out.expected_nodes.size());
  for (auto& fault : out.faults.orders)
    if (fault.node != "*" && x.config_file.empty() &&
        std::find(out.expected_nodes.begin(), out.expected_nodes.end(),
                  fault.node) == out.expected_nodes.end())
      return fail(ec::invalid_argument,
                  "--fault: there is no node {}; the nodes are {}", fault.node,
                  out.expected_nodes.empty()
                    ? "none (use --workers)"
                    : fmt::format("{}", fmt::join(out.expected_nodes, ", ")));
  for (auto& [node, time] : out.faults.slow)
    if (node != "*" &&
        std::none_of(out.workers.begin(), out.workers.end(),
                     [&](auto& worker) { return worker.name == node; }))
      return fail(ec::invalid_argument,
                  "--fault slow:{}: expected a local node (--workers) or *",
                  node);
  for (auto& name : split_list(x.worker_isas))
    if (auto isa = kernels::isa_from_name(name);
        !isa || !kernels::supported(*isa))
      return fail(ec::invalid_argument,
                  "--worker-isa {}: expected scalar, avx2, avx512 or amx, as "
                  "far as this machine runs them",
                  name);
  double weights = 0;
  for (auto weight : out.placement.weights)
    weights += weight;
  if (out.placement.kind == placement_spec::policy::weighted && weights <= 0)
    return fail(ec::invalid_argument,
                "placement: all weights are 0; give one node a weight");
  auto wants_port = !out.expected_nodes.empty() || !x.cluster_listen.empty() ||
                    !x.config_file.empty();
  if (wants_port) {
    auto& at = config.head.cluster_listen;
    out.cluster_listen = listen_options{
      at.host, at.port,
      config.head.insecure ? exposure::insecure : exposure::loopback_only};
  }
  return {};
}

void set_limits(const cluster_config& config, head_options& out) {
  auto& head = config.head;
  auto& supervision = config.supervision;
  out.cache.type = row_type(out.compute.mode);
  out.cache.bytes_max =
    head.kv_cache.bytes != 0 ? head.kv_cache.bytes : automatic_cache_bytes(out);
  out.schedule.max_running = head.requests_running;
  out.schedule.prefill_chunk = head.prefill_chunk;
  out.schedule.max_batch_rows =
    std::max(out.schedule.max_batch_rows, head.prefill_chunk);
  out.requests_max = head.requests_running + head.requests_waiting;
  // The ledger is the bound; what it has accepted is never refused later.
  out.schedule.max_waiting = static_cast<uint32_t>(out.requests_max);
  restart_policy::options restart;
  restart.limit = {supervision.intensity, supervision.period};
  restart.backoff = {supervision.backoff_min, supervision.backoff_max,
                     supervision.jitter};
  out.restart = restart;
  out.worker_restart.restart = restart;
  out.membership.detector.suspect_after = config.heartbeat.suspect_after;
  out.membership.detector.dead_after = config.heartbeat.dead_after;
  out.heartbeat = config.heartbeat.interval;
  out.fallback =
    config.dispatch.fallback_local ? local_fallback::yes : local_fallback::no;
  out.deadline.floor = config.dispatch.deadline_floor;
  out.deadline.ceiling = config.dispatch.deadline_ceiling;
  out.deadline.factor = config.dispatch.deadline_factor;
  if (config.dispatch.fallback_memory.bytes != 0)
    out.fallback_bytes = config.dispatch.fallback_memory.bytes;
  out.relaxed = head.exact == exactness::relaxed;
  out.network.transport.connections.peers = head.node_connections;
  out.network.transport.connections.handshake_deadline = head.connect_deadline;
}

} // namespace

void head_arguments::declare(CLI::App& app) {
  model.declare(app);
  app.add_option("--config", config_file,
                 "cluster configuration (config/cluster.toml is an example)");
  app
    .add_option("--workers", workers,
                "local node processes to start and supervise")
    ->check(CLI::Range(0u, 64u));
  app.add_option("--placement", placement,
                 "round_robin, weighted:1,2,... or local");
  app.add_option("--cluster-listen", cluster_listen,
                 "HOST:PORT on which nodes are expected");
  app
    .add_option("--prefill-chunk", prefill_chunk,
                "prompt rows per pass (same tokens whatever it is)")
    ->check(CLI::Range(1u, 4096u));
  app.add_option("--wire-dtype", wire_dtype, "type of the experts' outputs")
    ->check(CLI::IsMember({"bf16", "f32"}));
  app
    .add_option("--worker-lanes", worker_lanes,
                "compute threads of each local node process")
    ->check(CLI::Range(1u, 1024u));
  app.add_option("--worker-isa", worker_isas,
                 "instructions of w1, w2, ... in turn, e.g. avx2,avx512");
  app.add_flag("--no-fallback", no_fallback,
               "fail a request instead of computing a lost node's experts "
               "here");
  app.add_option("--fault", faults,
                 "drill: kill:w1@token=10, stop:w2@token=10, kill:*@layer=3, "
                 "slow:w1=20us, route:5=+4, ... (repeatable)");
  app.add_option("--trace", trace_file,
                 "write a timeline (Chrome trace JSON) to this file");
  app.add_flag("--quiet", quiet, "no progress on stderr");
}

result<head_setup> prepare_head(const head_arguments& x) {
  head_setup setup;
  if (!x.config_file.empty()) {
    auto read = read_cluster_config(x.config_file);
    if (!read)
      return tl::unexpected(std::move(read.error()));
    setup.config = std::move(*read);
  }
  if (auto ok = override_config(x, setup.config); !ok)
    return tl::unexpected(std::move(ok.error()));
  auto& config = setup.config;
  auto model = x.model;
  model.dtype = config.head.dtype == numeric_dtype::f32 ? "f32" : "bf16";
  model.lanes = config.head.lanes;
  auto& out = setup.options;
  auto compute = model.compute();
  if (!compute)
    return tl::unexpected(std::move(compute.error()));
  out.compute = *compute;
  out.lanes = model.lane_options();
  out.images = model.cache(config.cache);
  auto faults = parse_faults(x.faults);
  if (!faults)
    return tl::unexpected(std::move(faults.error()));
  out.faults = std::move(*faults);
  auto placement = placement_of(x, config);
  if (!placement)
    return tl::unexpected(std::move(placement.error()));
  out.placement = std::move(*placement);
  auto opened = open_noted_model(config.head.model);
  if (!opened)
    return tl::unexpected(std::move(opened.error()));
  out.model = std::move(*opened);
  auto text = open_tokenizer(config.head.model);
  if (!text)
    return tl::unexpected(std::move(text.error()));
  out.text = std::move(*text);
  out.reply_type = reply_type_of(config, out.compute.mode);
  if (auto ok = set_nodes(x, config, out); !ok)
    return tl::unexpected(std::move(ok.error()));
  set_limits(config, out);
  if (!x.trace_file.empty())
    out.spans = std::make_shared<span_sink>();
  if (x.quiet)
    setup.loading = load_wish::silent;
  else
    out.progress = note;
  return setup;
}

result<std::unique_ptr<cluster_head>> load_head(head_setup& setup) {
  auto& options = setup.options;
  auto local = options.expected_nodes.empty() ||
               options.placement.kind == placement_spec::policy::local;
  auto bytes = bytes_to_load(*options.model, local ? load_scope::whole_model
                                                   : load_scope::backbone);
  // The head keeps `progress`, and with it the meter.
  auto meter = std::make_shared<load_meter>(options.model, bytes,
                                            display_for(setup.loading));
  if (options.progress)
    options.progress = [meter](const std::string& text) { meter->note(text); };
  auto head = cluster_head::start(std::move(options));
  meter->stop();
  return head;
}

result<std::unique_ptr<cluster_head>>
start_head(head_setup& setup, const std::function<bool()>& give_up) {
  auto head = load_head(setup);
  if (!head)
    return head;
  auto all = (*head)->wait_for_nodes(nodes_deadline, give_up);
  if (!all && !give_up())
    note("not all nodes have joined; going on without them");
  return head;
}

} // namespace troupe::cli
