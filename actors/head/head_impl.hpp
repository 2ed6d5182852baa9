// The inside of a cluster_head, shared by the files that implement it.
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/expert/expert_store.hpp"
#include "actors/head/cluster_head.hpp"
#include "actors/peer_table.hpp"
#include "actors/transport/cluster_system.hpp"
#include "actors/transport/hello.hpp"
#include "runtime/engine/backbone_weights.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>

namespace troupe {

struct cluster_head::impl {
  explicit impl(head_options x) : options(std::move(x)) {
    // nop
  }

  result<void> load();
  result<void> run();
  result<void> preload_local_experts();
  std::vector<child_spec> children();
  std::vector<float> score_bias() const;
  child_spec backbone_child();
  child_spec dispatcher_child(layer_index layer);
  child_spec fallback_child();
  child_spec membership_child();
  void send_again();
  void publish(const std::function<void(actor_directory&)>& change);
  void restarted(const std::string& role);
  void node_changed(const member& x);
  void inject(const node_fault_order& x);
  result<void> listen_for_nodes();
  result<void> start_workers();
  std::shared_ptr<worker_processes> local_workers();
  void wake();
  void failed(const std::string& why);
  void say(const std::string& text) const;
  void stop(duration limit, int exit_code);

  head_options options;
  std::unique_ptr<kernels::lanes> lanes;
  std::shared_ptr<packed_images> images;
  std::shared_ptr<const backbone_weights> weights;
  std::shared_ptr<expert_store> store;
  std::shared_ptr<request_ledger> ledger;
  std::shared_ptr<cluster_statistics> stats =
    std::make_shared<cluster_statistics>();
  std::shared_ptr<sequence_totals> totals = std::make_shared<sequence_totals>();
  std::shared_ptr<cluster_view> view = std::make_shared<cluster_view>();
  std::shared_ptr<peer_view> peers = std::make_shared<peer_view>();
  std::shared_ptr<actor_directory_view> directory =
    std::make_shared<actor_directory_view>();
  std::shared_ptr<supervision_status> status =
    std::make_shared<supervision_status>();
  std::shared_ptr<std::atomic<uint64_t>> batch_ids =
    std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<std::atomic<uint64_t>> pass_ids =
    std::make_shared<std::atomic<uint64_t>>(0);
  std::shared_ptr<fault_plan> faults;
  uint64_t local_incarnation =
    std::random_device{}() | (uint64_t{std::random_device{}()} << 32);
  hello self;
  std::vector<layer_index> moe_layers;
  std::unique_ptr<cluster_system> cluster;
  caf::actor tree;
  caf::strong_actor_ptr door; ///< GATEWAY
  std::mutex door_mutex;
  uint16_t port = 0;
  std::mutex workers_mutex; ///< Of the pointer only.
  std::shared_ptr<worker_processes> workers;
  std::atomic<bool> stopping{false};
  std::optional<std::string> fatal; ///< Guarded by `change_mutex`.
  std::mutex change_mutex;
  std::condition_variable change;
};

} // namespace troupe
