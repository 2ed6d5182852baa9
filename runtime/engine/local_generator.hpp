// Generation without actors: scheduler, forward pass, sampler and local experts
// in one loop. What the cluster is compared with, and the bench's bare mode.
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/engine/forward_pass.hpp"
#include "runtime/engine/local_experts.hpp"
#include "runtime/engine/sampler.hpp"
#include "runtime/engine/scheduler.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// A model ready to run in this process.
struct local_model {
  std::shared_ptr<const backbone_weights> backbone;
  std::shared_ptr<const local_experts> experts;
  std::vector<token_id> stop_ids; ///< The model's own.
  /// Type of the experts' outputs: bf16 or f32 (f32 in f32 mode).
  kernels::dtype reply = kernels::dtype::bf16;
};

/// Loads backbone and all experts; `reply` is the default of the mode.
result<local_model> load_local_model(packed_images& images,
                                     kernels::lanes& pool);

/// The same without a cache.
result<local_model> load_local_model(const opened_model& model,
                                     kernels::compute_options options,
                                     kernels::lanes& pool);

/// Runs one batch to its end with local experts. Errors: not_finite.
result<pass_output> run_pass(forward_pass& pass, const batch& x,
                             const local_model& model, kernels::lanes& pool);

struct generator_options {
  /// 0 in `context_tokens`, `vocab_size`, and no `model_stop`: the model's.
  scheduler_options schedule;
  /// `type` is set to the type of the mode.
  kv_cache_options cache;
  /// Called after each step with the batch it ran, for measurements.
  std::function<void(const batch&)> on_step = {};
};

/// One finished request.
struct generated_text {
  std::vector<token_id> ids; ///< A stop id is not among them.
  finish_reason reason = finish_reason::length;
};

class local_generator {
public:
  /// `pool` outlives the generator. Errors: out_of_memory.
  static result<local_generator> make(local_model model, kernels::lanes& pool,
                                      generator_options options);

  /// Runs all requests together to their ends, results in the same order.
  /// Stop strings are not looked at (ids only). Errors: what `scheduler::add`
  /// refuses; not_finite.
  result<std::vector<generated_text>>
  generate(std::span<const generation_request> requests);

  /// Counts of the last `generate`.
  const scheduler_stats& stats() const noexcept {
    return stats_;
  }

private:
  local_generator() = default;

  local_model model_;
  kernels::lanes* pool_ = nullptr;
  scheduler_options schedule_;
  std::function<void(const batch&)> on_step_;
  std::unique_ptr<kv_cache> cache_;
  std::unique_ptr<forward_pass> pass_;
  scheduler_stats stats_;
};

/// Samples the rows of `x` that wanted logits, in row order: each with its
/// sequence's parameters, keyed by the new token's position. @pre Every
/// sequence of `x` is in `state`. Errors: not_finite.
result<std::vector<sampled_token>> sample_rows(const batch& x,
                                               const pass_output& out,
                                               const scheduler& state,
                                               sampler& chooser);

} // namespace troupe
