// Writing keys and values into cache blocks.
#include "kernels/kv_layout.hpp"

#include <algorithm>

namespace troupe::kernels {

namespace {

float rounded_to(float x, float) {
  return x;
}

bf16 rounded_to(float x, bf16) {
  return to_bf16(x);
}

/// Elements [first, end) of a key of one position.
template <class T>
void store_key(const float* key, size_t first, size_t end, T* slot) {
  for (size_t d = first; d < end; ++d)
    slot[d * kv_block_tokens] = rounded_to(key[d], T{});
}

template <class T>
void store_value(const float* value, size_t count, T* slot) {
  for (size_t d = 0; d < count; ++d)
    slot[d] = rounded_to(value[d], T{});
}

/// Dimensions of a key that a task writes when there are no values to share
/// the work with: enough for whole cache lines, as a dimension is one or more.
constexpr size_t dims_per_task = 64;

/// A task's part of one head: the whole of it, or a few dimensions.
struct head_part {
  size_t head;
  size_t first;
  size_t end;
};

/// T is the cache type.
template <class T>
void store_row(const kv_layout& layout, const attention_row& row,
               const head_part& part, const float* k, const float* v) {
  std::byte* block = row.cache.block(row.position / kv_block_tokens);
  const size_t slot = row.position % kv_block_tokens;
  const size_t head = part.head;
  T* keys = reinterpret_cast<T*>(block + layout.key_offset(head));
  store_key(k + head * layout.head_dim, part.first, part.end, keys + slot);
  if (layout.values != kv_values::own)
    return;
  T* values = reinterpret_cast<T*>(block + layout.value_offset(head));
  store_value(v + head * layout.value_size(), layout.value_size(),
              values + slot * layout.value_stride());
}

} // namespace

void store_kv(const kv_layout& layout, std::span<const attention_row> rows,
              matrix_view<const float> k, matrix_view<const float> v,
              lanes& pool) {
  TROUPE_ASSERT(layout.type == dtype::bf16 || layout.type == dtype::f32);
  const bool own = layout.values == kv_values::own;
  TROUPE_ASSERT(k.rows == rows.size());
  TROUPE_ASSERT(k.cols == layout.kv_heads * layout.head_dim);
  TROUPE_ASSERT(own ? v.rows == rows.size() : v.rows == 0);
  TROUPE_ASSERT(!own || v.cols == layout.kv_heads * layout.value_size());
  for (const attention_row& row : rows)
    TROUPE_ASSERT(row.position / kv_block_tokens < row.cache.blocks.size());
  // A task is a head or some of its dimensions: two lanes never write to the
  // same cache lines.
  const size_t dims = own ? layout.head_dim : dims_per_task;
  const size_t parts = (layout.head_dim + dims - 1) / dims;
  pool.parallel_for(layout.kv_heads * parts, [&](size_t task, size_t) {
    const size_t first = task % parts * dims;
    const head_part part{task / parts, first,
                         std::min(first + dims, layout.head_dim)};
    for (size_t r = 0; r < rows.size(); ++r) {
      const float* value = own ? v.row(r) : nullptr;
      if (layout.type == dtype::bf16)
        store_row<bf16>(layout, rows[r], part, k.row(r), value);
      else
        store_row<float>(layout, rows[r], part, k.row(r), value);
    }
  });
}

} // namespace troupe::kernels
