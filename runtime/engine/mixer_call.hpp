// What every token mixer is given: one layer's input rows, where its result
// goes, and what belongs to the whole pass.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/lanes.hpp"
#include "runtime/engine/pass_rows.hpp"
#include "runtime/engine/scratch.hpp"
#include "runtime/model/model_config.hpp"

namespace troupe {

/// What the mixers of a pass share.
struct mixer_pass {
  pass_rows& rows;
  kv_cache& cache;
  kernels::matrix_view<const float> angles; ///< [rows, rotary_dim]
  kernels::lanes& pool;
};

/// One layer.
struct mixer_call {
  const layer_recipe& recipe;
  uint32_t layer = 0;
  kernels::activation_view input;  ///< [rows, H], normed and rounded
  kernels::matrix_view<float> out; ///< [rows, H]
};

/// What a mixer is made for.
struct mixer_options {
  kernels::compute_options compute;
  size_t rows_max = 0; ///< Rows of a batch.
};

} // namespace troupe
