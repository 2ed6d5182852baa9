// All experts of a model in memory: serves a `moe_request` without any actor.
// The path of `eval`, of the bench's bare mode and of the golden tests.
#pragma once

#include "kernels/lanes.hpp"
#include "runtime/engine/expert_batch.hpp"
#include "runtime/engine/layer_experts.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Chooses each row's experts by the model's rule. `logit_bias` (per expert, or
/// empty) skews the load on purpose. For few rows a pool without lanes (`count
/// = 0`) will do. Errors: not_finite, naming the row.
result<routing> route(const router_config& config, const moe_request& x,
                      kernels::lanes& pool,
                      std::span<const float> logit_bias = {});

/// Immutable once loaded; shared.
class local_experts {
public:
  /// Loads every expert on the lanes. Errors: io, bad_format,
  /// unsupported, out_of_memory.
  static result<std::shared_ptr<const local_experts>>
  load(packed_images& images, kernels::lanes& pool);

  /// Computes all pairs of `choice`, rounding them to `reply` as a remote node
  /// does. @pre `choice` fits the rows of `x`.
  moe_response run(const moe_request& x, routing choice, kernels::dtype reply,
                   kernels::lanes& pool) const;

  /// nullptr in dense layers.
  const layer_experts* layer(layer_index x) const;

  uint64_t size_bytes() const noexcept;

private:
  std::vector<std::shared_ptr<const layer_experts>> layers_; ///< [layers]
  mutable row_pool replies_{reply_bytes_kept};

  static constexpr size_t reply_bytes_kept = size_t{256} << 20;
};

} // namespace troupe
