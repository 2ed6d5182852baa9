// The rows of one batch as the layers see them: found once per pass, used by
// every layer.
#pragma once

#include "kernels/kv_layout.hpp"
#include "kernels/rope_scaling.hpp"
#include "runtime/engine/batch.hpp"
#include "runtime/engine/kv_cache.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Consecutive rows of one sequence.
struct pass_slot {
  size_t first = 0; ///< Row.
  size_t count = 0;
  uint32_t position = 0; ///< Of the first row.
  uint32_t state = 0;    ///< In the state arena; models with one.
  state_arena::step copies;
};

class pass_rows {
public:
  /// Finds the blocks and states of `x`. @pre as `forward_pass::start`
  void bind(const batch& x, kv_cache& cache);

  size_t count() const {
    return cached_.size();
  }
  /// Rows whose logits are wanted, ascending.
  const std::vector<size_t>& wanted() const {
    return wanted_;
  }
  const std::vector<pass_slot>& slots() const {
    return slots_;
  }
  uint32_t position(size_t row) const {
    return static_cast<uint32_t>(cached_[row].position);
  }
  /// Each row's cache, at the part of `layer`.
  std::span<const kernels::attention_row> cached(const kv_cache& cache,
                                                 uint32_t layer);
  /// How each row turns, in order.
  std::vector<kernels::rope_row>
  turned(const kernels::rope_scaling& scaling) const;

  /// The pass has written every layer's state.
  void end(kv_cache& cache) const;

private:
  std::vector<pass_slot> slots_;
  std::vector<uint32_t> prompts_;               ///< [slots], tokens
  std::vector<uint32_t> slot_of_;               ///< [rows]
  std::vector<std::vector<std::byte*>> blocks_; ///< [slots]
  std::vector<kernels::attention_row> cached_;  ///< [rows]
  std::vector<size_t> wanted_;
};

} // namespace troupe
