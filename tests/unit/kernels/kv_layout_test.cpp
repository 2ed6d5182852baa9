// The blocks of the cache: sizes, and where keys and values go.
#include "attention_support.hpp"

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(layout_of_keys_and_values)

BOOST_AUTO_TEST_CASE(a_latent_is_stored_once) {
  const kv_layout latent{1, 576, dtype::bf16, 512, kv_values::leading_keys};
  BOOST_TEST(latent.block_bytes() == 64u * 576 * 2);
  BOOST_TEST(latent.value_size() == 512u);
  const kv_layout own{2, 192, dtype::bf16, 120};
  BOOST_TEST(own.block_bytes() == 2u * 64 * (192 + 128) * 2);
  const kv_layout usual{4, 128, dtype::f32};
  BOOST_TEST(usual.value_size() == 128u);
  BOOST_TEST(usual.block_bytes() == 4u * 64 * 256 * 4);
}

BOOST_AUTO_TEST_CASE(keys_and_values_lie_where_the_layout_says) {
  random_rows random(91);
  for (const shape& s : std::vector<shape>{
         {2, 2, 20, dtype::f32},
         {2, 2, 20, dtype::f32, 9},
         {2, 2, 150, dtype::f32, 130, kv_values::leading_keys},
         {1, 1, 64, dtype::f32, 64, kv_values::leading_keys}}) {
    const auto x = random_sequence(random, s, 70);
    const test_cache cache = full_cache(x);
    const kv_layout& layout = x.options.layout;
    for (const size_t position : {0u, 5u, 63u, 64u, 69u})
      for (size_t head = 0; head < s.kv_heads; ++head) {
        const std::byte* block =
          cache.row(position).cache.block(position / kv_block_tokens);
        const size_t slot = position % kv_block_tokens;
        const auto* keys =
          reinterpret_cast<const float*>(block + layout.key_offset(head));
        const float* k = x.k.data() + position * x.k_cols();
        for (size_t d = 0; d < s.head_dim; ++d)
          BOOST_REQUIRE(keys[d * 64 + slot] == k[head * s.head_dim + d]);
        if (s.values != kv_values::own)
          continue;
        const auto* values =
          reinterpret_cast<const float*>(block + layout.value_offset(head));
        const float* v = x.v.data() + position * x.v_cols();
        for (size_t d = 0; d < layout.value_size(); ++d)
          BOOST_REQUIRE(values[slot * layout.value_stride() + d] ==
                        v[head * layout.value_size() + d]);
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
