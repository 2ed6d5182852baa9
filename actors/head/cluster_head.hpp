// The head as a whole: model, lanes, ledger, actor system, the supervision tree
// of its actors, and the local node processes it was asked to start. What
// `generate` and `serve` run.
#pragma once

#include "actors/backbone/sequence_totals.hpp"
#include "actors/cluster_statistics.hpp"
#include "actors/dispatch/batch_deadline.hpp"
#include "actors/dispatch/dispatch_plan.hpp"
#include "actors/fault/fault_plan.hpp"
#include "actors/membership/membership_table.hpp"
#include "actors/supervision/supervisor.hpp"
#include "actors/supervision/worker_processes.hpp"
#include "actors/transport/listen.hpp"
#include "kernels/lanes.hpp"
#include "runtime/engine/kv_cache.hpp"
#include "runtime/engine/packed_images.hpp"
#include "runtime/engine/request_ledger.hpp"
#include "runtime/engine/scheduler.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/model/tokenizer.hpp"
#include "runtime/placement/policies.hpp"
#include "runtime/trace/span_sink.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct head_options {
  model_ptr model;
  std::optional<tokenizer> text; ///< Folders without one work with ids.
  kernels::compute_options compute;
  kernels::lanes_options lanes;
  kernels::dtype reply_type = kernels::dtype::bf16; ///< Of experts' outputs.

  kv_cache_options cache;
  scheduler_options schedule; ///< Stop ids and context are set from the model.
  size_t requests_max = 1024; ///< Open at one time.

  cluster_options network;
  /// Actor port; absent: no node can come from outside and none is started.
  std::optional<listen_options> cluster_listen;
  placement_spec placement;
  std::vector<std::string> expected_nodes;
  std::vector<worker_spec> workers; ///< Local processes, `{port}` replaced.
  worker_processes::options worker_restart;
  membership_table::options membership;
  duration heartbeat = std::chrono::milliseconds(200);
  bool relaxed = false;

  local_fallback fallback = local_fallback::yes;
  batch_deadline::options deadline;
  uint64_t fallback_bytes = UINT64_MAX; ///< Bound of the local experts held.
  image_cache_options images;           ///< The host's packed weights.
  restart_policy::options restart;      ///< Of the head's actors.

  fault_spec faults;
  std::shared_ptr<span_sink> spans; ///< Null: nothing is traced.
  /// Told of steps of the start that take time; may be empty.
  std::function<void(const std::string&)> progress;
  /// Told when a node changes its state; may be empty. Any thread.
  std::function<void(const member&)> on_node;
};

class cluster_head {
public:
  /// Loads the backbone, starts actors and node processes. Fails with what
  /// loading and listening fail with.
  static result<std::unique_ptr<cluster_head>> start(head_options x);

  ~cluster_head();
  cluster_head(const cluster_head&) = delete;
  cluster_head& operator=(const cluster_head&) = delete;

  /// Waits until every expected node serves, or `limit`, or until `give_up`
  /// says so. Returns whether they all do.
  bool wait_for_nodes(duration limit, const std::function<bool()>& give_up);

  /// Accepts a request; its tokens go to `sink`. Fails as the ledger does.
  result<sequence_id> submit(generation_request request,
                             std::shared_ptr<token_sink> sink);

  /// Nobody wants the sequence any more.
  void cancel(sequence_id id);

  /// Forgets a finished sequence; returns what it has cost.
  sequence_total close(sequence_id id);

  /// The actor port; 0 when not listening.
  uint16_t cluster_port() const;

  const head_options& options() const;
  statistics stats() const;
  std::shared_ptr<const cluster_snapshot> cluster() const;
  std::vector<child_status> actors() const;
  std::vector<worker_status> workers() const;

  /// Why the head cannot go on; nothing while all is well. Open requests have
  /// been told.
  std::optional<std::string> failure() const;

  /// Why no request can be served now; nothing when ready.
  std::optional<std::string> not_ready() const;

  /// Ends node processes and actors within `limit`; else the process ends by
  /// _exit(exit_code). Open sequences end as cancelled.
  void stop(duration limit, int exit_code);

private:
  struct impl;
  explicit cluster_head(std::unique_ptr<impl> x);

  std::unique_ptr<impl> impl_;
};

} // namespace troupe
