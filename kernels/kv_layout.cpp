// Writing keys and values into cache blocks.
#include "kernels/kv_layout.hpp"

namespace troupe::kernels {

namespace {

float rounded_to(float x, float) {
  return x;
}

bf16 rounded_to(float x, bf16) {
  return to_bf16(x);
}

/// One head of one row. T is the cache type.
template <class T>
void store_head(const kv_layout& layout, size_t slot, const float* k,
                const float* v, std::byte* keys, std::byte* values) {
  T* key = reinterpret_cast<T*>(keys) + slot;
  T* value = reinterpret_cast<T*>(values) + slot * layout.value_stride();
  for (size_t i = 0; i < layout.head_dim; ++i)
    key[i * kv_block_tokens] = rounded_to(k[i], T{});
  for (size_t i = 0; i < layout.head_dim; ++i)
    value[i] = rounded_to(v[i], T{});
}

} // namespace

void store_kv(const kv_layout& layout, std::span<const attention_row> rows,
              matrix_view<const float> k, matrix_view<const float> v,
              lanes& pool) {
  TROUPE_ASSERT(layout.type == dtype::bf16 || layout.type == dtype::f32);
  TROUPE_ASSERT(k.rows == rows.size() && v.rows == rows.size());
  TROUPE_ASSERT(k.cols == layout.kv_heads * layout.head_dim &&
                v.cols == k.cols);
  // A task is a head: two lanes never write to the same cache lines.
  pool.parallel_for(layout.kv_heads, [&](size_t head, size_t) {
    for (size_t r = 0; r < rows.size(); ++r) {
      const size_t index = rows[r].position / kv_block_tokens;
      TROUPE_ASSERT(index < rows[r].cache.blocks.size());
      std::byte* block = rows[r].cache.block(index);
      std::byte* keys = block + layout.key_offset(head);
      std::byte* values = block + layout.value_offset(head);
      const size_t slot = rows[r].position % kv_block_tokens;
      const size_t at = head * layout.head_dim;
      const float* key = k.row(r) + at;
      const float* value = v.row(r) + at;
      if (layout.type == dtype::bf16)
        store_head<bf16>(layout, slot, key, value, keys, values);
      else
        store_head<float>(layout, slot, key, value, keys, values);
    }
  });
}

} // namespace troupe::kernels
