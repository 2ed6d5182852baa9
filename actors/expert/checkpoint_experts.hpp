// An expert store filled from this machine's disk: the cache of packed images,
// else the checkpoint.
#pragma once

#include "actors/expert/expert_store.hpp"
#include "runtime/engine/packed_images.hpp"

namespace troupe {

/// @param bytes_max Bound of the experts held.
std::shared_ptr<expert_store>
open_expert_store(std::shared_ptr<packed_images> images, uint64_t bytes_max);

} // namespace troupe
