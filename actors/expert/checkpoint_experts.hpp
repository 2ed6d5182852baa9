// An expert store filled from a checkpoint on this machine's disk.
#pragma once

#include "actors/expert/expert_store.hpp"
#include "runtime/model/opened_model.hpp"

namespace troupe {

/// @param bytes_max Bound of the experts held.
std::shared_ptr<expert_store>
open_expert_store(model_ptr model, kernels::compute_options options,
                  uint64_t bytes_max);

} // namespace troupe
