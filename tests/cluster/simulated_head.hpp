// A head's BACKBONE, ROUTER and DISPATCHERs in one thread, on a virtual clock
// and in an order of messages that a seed chooses. The experts of the nodes and
// of FALLBACK are actors that do as the test says; MEMBERSHIP only counts. The
// model is the small golden one.
#pragma once

#include "actors/backbone/backbone.hpp"
#include "actors/dispatch/dispatcher.hpp"
#include "actors/router/router.hpp"
#include "runtime/engine/local_generator.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace troupe::testing {

/// What an expert actor does with a batch.
enum class conduct : uint8_t {
  answer,
  answer_twice,
  hold,   ///< Keeps it until `release`.
  refuse, ///< Answers with a failure.
};

/// A batch at its destination; `local_node` is FALLBACK.
struct asked_batch {
  node_id node;
  expert_batch batch;
  caf::strong_actor_ptr from;
};

struct simulation_options {
  uint32_t nodes = 2;
  local_fallback fallback = local_fallback::yes;
  uint32_t order_seed = 0; ///< Of the order of messages.
};

class simulated_head {
public:
  explicit simulated_head(simulation_options options = {});
  ~simulated_head();

  simulated_head(const simulated_head&) = delete;
  simulated_head& operator=(const simulated_head&) = delete;

  /// The requests of all simulations, greedy and sampled, and the tokens that
  /// `local_generator` gives them.
  static const std::vector<generation_request>& requests();
  static const std::vector<std::vector<token_id>>& expected();

  /// Opens all requests.
  void open_all();

  /// Delivers one message. False when there is none.
  bool step();

  /// Delivers messages until `done` (checked after each) or none is left.
  /// Returns whether `done` held at last.
  bool run_until(const std::function<bool()>& done);

  /// Delivers all messages.
  void run();

  /// Lets virtual time pass and delivers what comes of it.
  void advance(duration x);

  /// What is done with a batch. Default: all are answered.
  std::function<conduct(const asked_batch&)> decide;

  /// Answers a batch that was held.
  void release(const asked_batch& x);
  std::vector<asked_batch> held;

  /// An actor ends, and a new one takes its place as a supervisor would do it.
  void restart_backbone();
  void restart_router();
  void restart_dispatcher(layer_index layer);

  /// The connection to a node ends, as MEMBERSHIP tells it.
  void lose(node_id node);

  node_state state(node_id node) const;
  uint32_t asked(node_id node) const; ///< Batches it has got.
  uint32_t reports_of_lateness() const {
    return late_;
  }

  /// The layers with experts, ascending.
  const std::vector<layer_index>& layers() const {
    return layers_;
  }

  /// The tokens of each request so far, and how it ended.
  std::vector<std::vector<token_id>> tokens() const;
  std::vector<std::optional<finish_reason>> ends() const;
  std::vector<std::optional<error>> failures() const;
  statistics stats() const {
    return stats_->read();
  }

private:
  class log;

  void start_backbone();
  void start_router();
  void start_dispatcher(layer_index layer);
  void start_experts(uint32_t nodes);
  caf::strong_actor_ptr start_expert(node_id node);
  void take(asked_batch x);
  void end(const caf::strong_actor_ptr& x);
  caf::scheduler::test_coordinator& schedule();

  simulation_options options_;
  local_model model_;
  std::vector<layer_index> layers_;
  kernels::lanes pool_{kernels::lanes_options{.count = 0}};
  std::mt19937 random_;
  uint32_t late_ = 0;
  std::map<node_id, uint32_t> asked_;
  std::vector<sequence_id> ids_;
  std::vector<std::shared_ptr<log>> logs_;
  std::shared_ptr<request_ledger> ledger_;
  std::shared_ptr<actor_directory_view> directory_;
  std::shared_ptr<cluster_view> view_;
  std::shared_ptr<peer_view> peers_;
  std::shared_ptr<cluster_statistics> stats_;
  std::shared_ptr<sequence_totals> totals_;
  std::shared_ptr<std::atomic<uint64_t>> pass_ids_;
  std::shared_ptr<std::atomic<uint64_t>> batch_ids_;
  std::vector<caf::strong_actor_ptr> actors_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
};

} // namespace troupe::testing
