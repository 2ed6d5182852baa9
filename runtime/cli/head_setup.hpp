// From the command line and a configuration file to a running head: what
// `generate`, `serve` and `bench generate` share.
#pragma once

#include "actors/head/cluster_head.hpp"
#include "config/cluster_config.hpp"
#include "runtime/cli/load_meter.hpp"
#include "runtime/cli/model_options.hpp"

#include <string>
#include <vector>

namespace troupe::cli {

struct head_arguments {
  model_options model;
  std::string config_file;
  std::optional<uint32_t> workers;
  std::string placement;
  std::string cluster_listen;
  std::string wire_dtype;
  std::optional<uint32_t> prefill_chunk;
  std::optional<uint32_t> worker_lanes;
  std::string worker_isas; ///< "avx2,amx": of w1, w2, ... in turn.
  std::vector<std::string> faults;
  std::string trace_file;
  bool no_fallback = false;
  bool quiet = false;

  void declare(CLI::App& app);
};

/// What is known before the head runs.
struct head_setup {
  cluster_config config;
  head_options options;
  load_wish loading = load_wish::shown; ///< Silent with --quiet.
};

/// Reads the configuration, lets the command line override it, opens model and
/// tokenizer. Fails as these do.
result<head_setup> prepare_head(const head_arguments& x);

/// Starts the head and shows how far loading is; does not wait for nodes.
result<std::unique_ptr<cluster_head>> load_head(head_setup& setup);

/// Starts the head and waits for its nodes, with progress on stderr.
/// `give_up` ends the wait early.
result<std::unique_ptr<cluster_head>>
start_head(head_setup& setup, const std::function<bool()>& give_up);

} // namespace troupe::cli
