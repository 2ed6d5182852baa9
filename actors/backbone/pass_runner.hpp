// The compute side of BACKBONE: one forward pass object and what it needs, used
// by one job on the lanes at a time. Jobs share ownership, so that a restarted
// BACKBONE and a job of the old one never meet in the same memory.
#pragma once

#include "actors/local_messages.hpp"
#include "kernels/lanes.hpp"
#include "runtime/engine/forward_pass.hpp"
#include "runtime/engine/kv_cache.hpp"
#include "runtime/engine/sampler.hpp"

#include <caf/actor_control_block.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// How the token of one row that wants logits is chosen.
struct row_choice {
  sequence_id sequence;
  uint64_t position = 0; ///< Of the new token in its sequence.
  sampling_params params;
};

/// A batch and how its tokens are chosen, in the order of its wanted rows.
struct pass_work {
  batch rows;
  std::vector<row_choice> choices;
};

class pass_runner : public std::enable_shared_from_this<pass_runner> {
public:
  pass_runner(std::shared_ptr<const backbone_weights> weights, kv_cache cache,
              kernels::lanes& lanes, uint32_t rows_max);

  /// Runs `work` to its first stop. Answers `to` by `segment_done`. Returns
  /// false when the lanes take no job.
  bool start(std::shared_ptr<const pass_work> work,
             const caf::strong_actor_ptr& to);

  /// Goes on with the experts' outputs.
  bool resume(std::shared_ptr<const pass_work> work,
              std::shared_ptr<const moe_response> response,
              const caf::strong_actor_ptr& to);

  const kv_cache& cache() const {
    return cache_;
  }

private:
  /// One job on the lanes: waits for the one before, runs `step`, answers.
  template <class Step>
  bool post(std::shared_ptr<const pass_work> work,
            const caf::strong_actor_ptr& to, Step step);
  segment_end finish(const pass_work& work, forward_pass::output output);

  kernels::lanes& lanes_;
  /// The experts may answer while the job before still works ahead.
  std::mutex busy_;
  kv_cache cache_;
  forward_pass pass_;
  sampler sampler_;
};

} // namespace troupe
