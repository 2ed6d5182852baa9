// All experts of a model in memory: serves a `moe_request` without any actor.
// The path of `eval`, of the bench's bare mode and of the golden tests.
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/engine/backbone_weights.hpp"
#include "runtime/engine/expert_batch.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <memory>
#include <vector>

namespace troupe {

/// Chooses each row's experts by the model's rule. `logits` [rows, experts].
/// Errors: not_finite, naming the row.
result<routing> route(const router_config& config,
                      std::span<const float> logits, size_t rows);

/// Immutable once loaded; shared.
class local_experts {
public:
  /// Reads and packs every expert. Errors: io, bad_format, unsupported.
  static result<std::shared_ptr<const local_experts>>
  load(const opened_model& model, kernels::compute_options options);

  /// Computes all pairs of `choice`, rounding them to `reply` as a remote node
  /// does. @pre `choice` fits the rows of `x`.
  moe_response run(const moe_request& x, routing choice, kernels::dtype reply,
                   kernels::lanes& pool) const;

  /// @pre `layer` is a MoE layer.
  const kernels::expert_ffn* find(layer_index layer, expert_id expert) const;

  uint64_t size_bytes() const noexcept {
    return size_bytes_;
  }

private:
  std::vector<std::vector<kernels::expert_ffn>> layers_; ///< [layers][experts]
  uint64_t size_bytes_ = 0;
};

} // namespace troupe
