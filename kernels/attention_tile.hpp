// A task of `attention`: a few neighbouring rows of one sequence, and some
// query heads that share a KV head. Query i of a tile is head i % heads of row
// i / heads.
#pragma once

#include "kernels/attention.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

namespace troupe::kernels {

struct attention_tile {
  const attention_options& options;
  std::span<const attention_row> rows; ///< Of one sequence.
  size_t first_head = 0;               ///< Among all query heads.
  size_t heads = 0;
  matrix_view<const float> q; ///< The tile's rows, all heads.
  output_view out;            ///< The tile's rows, all heads.

  size_t queries() const {
    return rows.size() * heads;
  }
  size_t kv_head() const {
    return first_head / (options.heads / options.layout.kv_heads);
  }
};

/// How tiles of one layout are computed. Both functions know an ISA.
struct attention_kernel {
  /// Working memory of a tile, to be given to `run` on a 64-byte boundary.
  size_t (*bytes_needed)(const attention_tile& tile);
  void (*run)(const attention_tile& tile, std::byte* memory);
};

/// For values of their own: kernels/grouped_attention.cpp.
attention_kernel grouped_attention(isa level);
/// For values that are the leading keys: kernels/latent_attention.cpp.
attention_kernel latent_attention(isa level);

/// Positions [first, end) of a block; nothing is {0, 0}.
struct visible_range {
  size_t first = 0;
  size_t end = 0;

  bool empty() const {
    return first == end;
  }
  friend bool operator==(const visible_range&, const visible_range&) = default;
};

/// What the row at `position` sees of block `index`.
inline visible_range visible_in_block(const attention_options& options,
                                      size_t position, size_t index) {
  const size_t base = index * kv_block_tokens;
  const size_t first = std::max(options.first_visible(position), base);
  const size_t end = std::min(position + 1, base + kv_block_tokens);
  return first < end ? visible_range{first - base, end - base}
                     : visible_range{};
}

/// The positions that any of the queries sees, and all between.
inline visible_range seen_by_any(std::span<const visible_range> ranges) {
  visible_range any{kv_block_tokens, 0};
  for (const visible_range& x : ranges)
    if (!x.empty())
      any = {std::min(any.first, x.first), std::max(any.end, x.end)};
  return any.end == 0 ? visible_range{} : any;
}

/// The positions that all of the queries see.
inline visible_range seen_by_all(std::span<const visible_range> ranges) {
  visible_range all{0, kv_block_tokens};
  for (const visible_range& x : ranges)
    all = {std::max(all.first, x.first), std::min(all.end, x.end)};
  return all.first < all.end ? all : visible_range{};
}

/// Lays arrays out in a tile's memory, or only counts their bytes.
class scratch_layout {
public:
  explicit scratch_layout(std::byte* memory) : memory_(memory) {
  }

  /// `count` elements on a 64-byte boundary, nullptr when only counting.
  template <class T>
  T* take(size_t count) {
    T* array =
      memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * sizeof(T) + 63) / 64 * 64;
    return array;
  }

  size_t bytes() const {
    return bytes_;
  }

private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

/// What every tile keeps for its queries while it walks over the blocks.
struct tile_state {
  const attention_tile& tile;
  float* queries;        ///< [queries][head_dim], scaled
  float* scores;         ///< [queries][64], then the weights
  float* maxima;         ///< [queries], running
  float* sums;           ///< [queries], running
  visible_range* ranges; ///< [queries], of this block
  visible_range any;     ///< Of all queries, and all between.
  bool alike = false;    ///< All queries see the same of this block.

  tile_state(const attention_tile& of, scratch_layout& memory)
    : tile(of),
      queries(memory.take<float>(of.queries() * of.options.layout.head_dim)),
      scores(memory.take<float>(of.queries() * kv_block_tokens)),
      maxima(memory.take<float>(of.queries())),
      sums(memory.take<float>(of.queries())),
      ranges(memory.take<visible_range>(of.queries())) {
  }

  const kv_layout& layout() const {
    return tile.options.layout;
  }

  /// Copies the queries and starts their running softmax.
  void start() const;
  /// Sets the ranges of block `index`.
  void enter_block(size_t index);

  /// What any, and what all of the queries [first, first + count) see.
  visible_range seen_by_any_of(size_t first, size_t count) const {
    return alike ? any : seen_by_any({ranges + first, count});
  }
  visible_range seen_by_all_of(size_t first, size_t count) const {
    return alike ? any : seen_by_all({ranges + first, count});
  }
};

/// The blocks that hold all a tile's rows see, one after the other.
struct block_range {
  size_t first = std::numeric_limits<size_t>::max();
  size_t end = 0;
};

block_range blocks_of(const attention_tile& tile);

} // namespace troupe::kernels
