// A node as a whole process: model files, lanes, expert store, actor system and
// the NODE actor. What `troupe worker` runs.
#pragma once

#include "actors/node/node.hpp"
#include "runtime/engine/packed_images.hpp"
#include "runtime/model/opened_model.hpp"
#include "runtime/published.hpp"

#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct node_process_options {
  std::string model; ///< Checkpoint folder of this machine.
  std::string name;  ///< Unique in the cluster.
  connect_options head;
  kernels::compute_options compute;
  kernels::lanes_options lanes;
  uint64_t memory_bytes = UINT64_MAX; ///< Bound of expert weights held.
  image_cache_options cache;
  restart_backoff reconnect{std::chrono::milliseconds(50),
                            std::chrono::seconds(5)};
  uint32_t rows_max = 4096; ///< Largest batch accepted.
  bool relaxed = false;
  duration delay_per_pair{};
  std::function<void(node_event, const std::string&)> report;
  /// Told before experts are loaded, with the bytes they have in the
  /// checkpoint; may be empty.
  std::function<void(const model_ptr&, uint64_t)> loading;
};

class node_process {
public:
  /// Opens the model and starts to look for the head. Fails with what
  /// `open_model` fails with, and invalid_argument for a bad name.
  static result<std::unique_ptr<node_process>> start(node_process_options x);

  const opened_model& model() const {
    return *model_;
  }

  /// Why the NODE actor has ended by itself; nothing while all is well.
  std::optional<std::string> failure() const;

  /// Ends the actors within `limit`; else the process ends by _exit(exit_code).
  void stop(duration limit, int exit_code);

private:
  node_process(node_process_options x, model_ptr model);

  node_process_options options_;
  model_ptr model_;
  std::unique_ptr<kernels::lanes> lanes_;
  std::unique_ptr<cluster_system> cluster_;
  caf::strong_actor_ptr node_;
  /// Shared with the actor, which outlives no `stop` but may end before it.
  std::shared_ptr<published<std::string>> failure_;
};

} // namespace troupe
