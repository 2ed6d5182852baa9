// The BACKBONE actor: runs the sequences. Each step it takes a batch from the
// scheduler and drives one forward pass through its MoE layers:
//
//   idle --schedule--> computing --moe_request--> waiting for experts
//    ^                  |    ^                        |
//    |             sampled   +-------- moe_done ------+
//    +--- ledger -------+
//
// Tokens go to the request ledger before anybody sees them. A new BACKBONE
// takes up what the ledger holds.
#pragma once

#include "actors/actor_directory.hpp"
#include "actors/backbone/pass_runner.hpp"
#include "actors/backbone/sequence_totals.hpp"
#include "actors/cluster_statistics.hpp"
#include "actors/fault/fault_plan.hpp"
#include "actors/interfaces.hpp"
#include "runtime/engine/request_ledger.hpp"
#include "runtime/engine/text_stream.hpp"
#include "runtime/model/tokenizer.hpp"
#include "runtime/trace/span_sink.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

namespace troupe {

/// What BACKBONE works with; all of it outlives the actor.
struct backbone_services {
  std::shared_ptr<const backbone_weights> weights;
  kernels::lanes* lanes = nullptr;
  kv_cache_options cache;
  scheduler_options schedule;
  std::optional<tokenizer> text; ///< For stop strings; folders may have none.
  std::shared_ptr<request_ledger> ledger;
  std::shared_ptr<const actor_directory_view> directory;
  std::shared_ptr<cluster_statistics> stats;
  std::shared_ptr<sequence_totals> totals;
  std::shared_ptr<span_sink> spans; ///< Null: nothing is traced.
  std::shared_ptr<std::atomic<uint64_t>> pass_ids;
  /// No answer for a MoE layer within this time fails the pass.
  duration step_deadline = std::chrono::seconds(300);
  std::shared_ptr<fault_plan> faults;
  std::function<void(const node_fault_order&)> inject;
};

class backbone_state {
public:
  static inline const char* name = "backbone";

  /// Fails with out_of_memory when the KV cache cannot be made.
  result<void> init(backbone_actor::stateful_pointer<backbone_state> self,
                    backbone_services services);

  void open(sequence_id id);
  void cancel(sequence_id id);
  void segment_ended(const segment_done& x);
  void experts_answered(const moe_done& x);
  void retry();
  void tick();

private:
  using self_ptr = backbone_actor::stateful_pointer<backbone_state>;

  /// The pass under way.
  struct running_pass {
    std::shared_ptr<const pass_work> work;
    std::shared_ptr<const moe_request> request; ///< While experts are awaited.
    trace_context trace;
    time_point started;
    time_point segment_started;
    time_point asked;
    bool has_prompt_rows = false;
  };

  void admit(const ledger_entry& x);
  void step();
  std::shared_ptr<const pass_work> make_work(batch rows);
  void inject_before(const pass_work& work);
  void inject(fault_trigger::point at, uint32_t value);
  void ask_experts();
  void count_pairs(const moe_done& x);
  void complete(const segment_end& x);
  void accept(const step_event& x);
  void finish(sequence_id id, finish_reason reason,
              std::optional<error> why = std::nullopt);
  void fail_pass(const error& why);
  void count_pass(time_point ended);
  void trace_segment(time_point ended, std::string what);
  void watch_deadline();
  /// The actor system's clock: `steady`, or a virtual one in tests.
  time_point now() const;
  caf::strong_actor_ptr me() const;

  self_ptr self_ = nullptr;
  backbone_services services_;
  std::shared_ptr<pass_runner> runner_;
  std::unique_ptr<block_manager> blocks_;
  std::unique_ptr<scheduler> scheduler_;
  std::unordered_map<sequence_id, text_stream> texts_; ///< With stop strings.
  std::unordered_map<sequence_id, uint32_t> chunks_;   ///< Prompt chunks run.
  std::optional<running_pass> pass_;
  bool watching_ = false;
};

backbone_actor::behavior_type
backbone(backbone_actor::stateful_pointer<backbone_state> self,
         backbone_services services);

} // namespace troupe
