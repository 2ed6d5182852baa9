// Loads the token mixer of one layer, in the form the forward pass computes
// with: what the checkpoint keeps in one matrix is taken apart, and what it
// orders otherwise is put in order.
#pragma once

#include "runtime/engine/layer_weights.hpp"
#include "runtime/engine/weight_loader.hpp"

namespace troupe {

/// Errors are left in `from`.
void load_mixer(weight_loader& from, const layer_recipe& layer,
                layer_weights& out);

} // namespace troupe
