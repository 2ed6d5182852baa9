// A task of `attention`: a few neighbouring rows of one sequence and one KV
// head, with every query head that shares it. Query i of a tile is head
// i % group of row i / group.
#pragma once

#include "kernels/attention.hpp"

#include <cstddef>
#include <span>

namespace troupe::kernels {

/// Working memory of a tile, all on 64-byte boundaries.
struct attention_scratch {
  float* queries = nullptr; ///< [queries][head_dim], scaled
  float* outputs = nullptr; ///< [queries][value_stride], running sums
  float* scores = nullptr;  ///< [queries][64], then the weights
  float* maxima = nullptr;  ///< [queries], running
  float* sums = nullptr;    ///< [queries], running
  size_t* limits = nullptr; ///< [queries], positions seen in this block
  float* keys = nullptr;    ///< [head_dim][64], expanded from bf16
  float* values = nullptr;  ///< [64][value_stride], expanded from bf16

  /// Lays the arrays out from `memory` on, or only counts: `bytes` needed.
  attention_scratch(const kv_layout& layout, size_t queries_count,
                    std::byte* memory);
  size_t bytes = 0;
};

struct attention_tile {
  const attention_options& options;
  std::span<const attention_row> rows; ///< Of one sequence.
  size_t kv_head = 0;
  matrix_view<const float> q; ///< The tile's rows, all heads.
  output_view out;            ///< The tile's rows, all heads.

  /// Query heads of a KV head.
  size_t group() const {
    return options.heads / options.layout.kv_heads;
  }
  size_t queries() const {
    return rows.size() * group();
  }
};

} // namespace troupe::kernels
