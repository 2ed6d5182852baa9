// How keys and values lie in one block of the cache. A block holds 64
// positions, from a multiple of 64 on, of all KV heads of one layer:
//
//   per KV head:  keys   [head_dim][64 positions]           (transposed)
//                 values [64 positions][value_dim, padded to 16]
//
// or, where values are the leading elements of the keys (latent attention),
// the keys only. Transposed keys let a score be a sequential sum over head_dim
// in every lane, so its bits do not depend on the vector width. Unwritten
// positions may hold anything: nobody reads them. Blocks start on a 64-byte
// boundary.
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/lanes.hpp"
#include "kernels/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::kernels {

/// Positions of a cache block.
inline constexpr size_t kv_block_tokens = 64;

/// Where the values of a position are.
enum class kv_values : uint8_t {
  own,          ///< Stored beside the keys.
  leading_keys, ///< The first value_size() elements of the key: stored once.
};

struct kv_layout {
  size_t kv_heads = 0;
  size_t head_dim = 0;      ///< Of a query and a key.
  dtype type = dtype::bf16; ///< What keys and values are rounded to, or f32.
  size_t value_dim = 0;     ///< Of a value; 0: head_dim.
  kv_values values = kv_values::own;

  /// Elements of a value.
  size_t value_size() const {
    return value_dim == 0 ? head_dim : value_dim;
  }
  /// Elements from one position's own value to the next.
  size_t value_stride() const {
    return (value_size() + 15) / 16 * 16;
  }
  size_t key_bytes() const {
    return kv_block_tokens * head_dim * size_of(type);
  }
  size_t value_bytes() const {
    return values == kv_values::own
             ? kv_block_tokens * value_stride() * size_of(type)
             : 0;
  }
  /// From the start of a block to the keys of `head`.
  size_t key_offset(size_t head) const {
    return head * (key_bytes() + value_bytes());
  }
  /// @pre values are stored on their own
  size_t value_offset(size_t head) const {
    return key_offset(head) + key_bytes();
  }
  /// Of one layer.
  size_t block_bytes() const {
    return key_offset(kv_heads);
  }
};

/// One sequence's blocks, in the order of their positions. A block may hold
/// several layers: `offset` is where this layer's part starts (bytes, a
/// multiple of 64).
struct kv_blocks {
  std::span<std::byte* const> blocks;
  size_t offset = 0;

  std::byte* block(size_t i) const {
    return blocks[i] + offset;
  }
};

/// One row of a batch: a sequence's token at `position`, and its cache, which
/// covers that position.
struct attention_row {
  size_t position = 0;
  kv_blocks cache;
};

/// Rounds each row's keys and values to the cache type and puts them at their
/// positions. k: [rows.size(), kv_heads * head_dim]; v: [rows.size(), kv_heads
/// * value_size()], or nothing when values are the leading elements of keys.
/// Positions of one sequence must differ.
void store_kv(const kv_layout& layout, std::span<const attention_row> rows,
              matrix_view<const float> k, matrix_view<const float> v,
              lanes& pool);

} // namespace troupe::kernels
