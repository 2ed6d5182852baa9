// The bounded memories of the engine: KV cache and recycled rows, and the
// loading of stored types.
#include "golden_model.hpp"
#include "runtime/engine/packing.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <thread>

using namespace troupe;
using kernels::dtype;

namespace {

model_config config_of() {
  return golden::load(golden::model_folder, kernels::numeric_mode::f32)
    .backbone->config;
}

host_tensor tensor_of(dtype type, std::vector<uint64_t> shape,
                      const std::vector<uint16_t>& values) {
  host_tensor out;
  out.dtype = type;
  out.shape = std::move(shape);
  out.bytes = values.size() * sizeof(uint16_t);
  out.data = std::make_unique<std::byte[]>(out.bytes);
  std::memcpy(out.data.get(), values.data(), out.bytes);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(memories)

BOOST_AUTO_TEST_CASE(a_cache_keeps_to_its_bytes) {
  const auto config = config_of();
  const auto block = kv_cache::block_bytes(config, dtype::bf16);
  // 3 layers, 2 heads of 32, keys and values, 64 positions, 2 bytes.
  BOOST_TEST(block == 3u * 2 * 32 * 2 * 64 * 2);
  const auto cache = kv_cache::make(config, {5 * block + 1, 0, dtype::bf16});
  BOOST_TEST_REQUIRE(cache.has_value());
  BOOST_TEST(cache->blocks() == 5u);
  BOOST_TEST(cache->capacity_tokens() == 5u * 64);
  BOOST_TEST(cache->size_bytes() <= 5 * block + 1);
}

BOOST_AUTO_TEST_CASE(a_cache_is_no_larger_than_needed) {
  const auto cache =
    kv_cache::make(config_of(), {uint64_t{1} << 30, 65, dtype::f32});
  BOOST_TEST_REQUIRE(cache.has_value());
  BOOST_TEST(cache->blocks() == 2u);
}

BOOST_AUTO_TEST_CASE(a_cache_without_room_for_a_block_says_what_it_needs) {
  const auto cache = kv_cache::make(config_of(), {1000, 0, dtype::bf16});
  BOOST_TEST_REQUIRE(!cache.has_value());
  BOOST_TEST((cache.error().code == ec::out_of_memory));
  BOOST_TEST(cache.error().message.find("needs 49152") != std::string::npos,
             cache.error().message);
}

BOOST_AUTO_TEST_CASE(blocks_and_layers_do_not_overlap) {
  const auto config = config_of();
  auto cache = kv_cache::make(config, {uint64_t{1} << 20, 0, dtype::bf16});
  BOOST_TEST_REQUIRE(cache.has_value());
  const auto layer = cache->layout().block_bytes();
  BOOST_TEST(cache->layer_offset(2) + layer ==
             kv_cache::block_bytes(config, dtype::bf16));
  BOOST_TEST(cache->block(1) - cache->block(0) == static_cast<long>(3 * layer));
}

BOOST_AUTO_TEST_CASE(only_layers_with_attention_take_room_in_a_block) {
  auto config = config_of();
  config.layers[1].mixer = mixer_kind::short_conv;
  config.short_conv.kernel = 3;
  BOOST_TEST(kv_cache::block_bytes(config, dtype::bf16) ==
             2u * 2 * 32 * 2 * 64 * 2);
  auto cache = kv_cache::make(config, {uint64_t{1} << 20, 0, dtype::bf16, 3});
  BOOST_TEST_REQUIRE(cache.has_value());
  BOOST_TEST(cache->layer_offset(2) == cache->layout().block_bytes());
  BOOST_TEST(cache->states().sequences() == 3U);
}

BOOST_AUTO_TEST_CASE(latent_attention_stores_one_vector_a_token) {
  auto config = config_of();
  for (auto& layer : config.layers)
    layer.mixer = mixer_kind::mla;
  config.mla.kv_lora_rank = 48;
  config.mla.rope_dim = 16;
  BOOST_TEST(kv_cache::block_bytes(config, dtype::bf16) == 3u * 64 * 64 * 2);
}

BOOST_AUTO_TEST_CASE(states_take_half_of_the_cache_at_most) {
  auto config = config_of();
  config.layers[0].mixer = mixer_kind::gated_delta;
  config.gated_delta = {.kernel = 4,
                        .key_heads = 2,
                        .value_heads = 4,
                        .key_dim = 16,
                        .value_dim = 16};
  const auto state = state_layout{config}.sequence_bytes();
  auto cache = kv_cache::make(config, {20 * state, 0, dtype::bf16, 64});
  BOOST_TEST_REQUIRE(cache.has_value());
  BOOST_TEST(cache->states().sequences() == 10U);
  BOOST_TEST(cache->size_bytes() <= 20 * state);
  const auto one = kv_cache::make(
    config, {kv_cache::bytes_for(config, dtype::bf16, 70), 70, dtype::bf16, 1});
  BOOST_TEST_REQUIRE(one.has_value());
  BOOST_TEST(one->blocks() == 2U);
  BOOST_TEST(one->states().sequences() == 1U);
  BOOST_TEST(!kv_cache::make(config, {state, 0, dtype::bf16, 1}).has_value());
}

BOOST_AUTO_TEST_CASE(rows_nobody_holds_are_used_again) {
  row_pool pool{1 << 20};
  auto first = pool.take(4, 100, dtype::f32);
  const auto* memory = first->memory.data();
  BOOST_TEST(pool.take(4, 100, dtype::f32)->memory.data() != memory);
  first.reset();
  const auto again = pool.take(3, 90, dtype::bf16);
  BOOST_TEST((again->rows == 3u && again->cols == 90u));
  BOOST_TEST(again->memory.size_bytes() >= 4096u);
}

BOOST_AUTO_TEST_CASE(rows_of_several_threads_do_not_mix) {
  row_pool pool{1 << 20};
  std::atomic<int> mixed = 0;
  const auto use = [&](uint8_t mark) {
    for (size_t i = 0; i < 500; ++i) {
      const auto rows = pool.take(1 + i % 5, 64, dtype::f32);
      const auto bytes = rows->rows * rows->row_bytes();
      std::memset(rows->memory.data(), mark, bytes);
      std::this_thread::yield();
      for (size_t at = 0; at < bytes; ++at)
        mixed += rows->memory.data()[at] == std::byte{mark} ? 0 : 1;
    }
  };
  std::thread other{use, uint8_t{1}};
  use(2);
  other.join();
  BOOST_TEST(mixed == 0);
}

BOOST_AUTO_TEST_CASE(a_row_pool_may_die_before_its_rows) {
  std::shared_ptr<hidden_rows> rows;
  {
    row_pool pool{1 << 20};
    rows = pool.take(1, 8, dtype::f32);
  }
  std::memset(rows->row(0), 1, rows->row_bytes());
  rows.reset();
}

BOOST_AUTO_TEST_CASE(halves_keep_their_values) {
  BOOST_TEST(half_to_float(0x0000) == 0.0F);
  BOOST_TEST(std::signbit(half_to_float(0x8000)));
  BOOST_TEST(half_to_float(0x3c00) == 1.0F);
  BOOST_TEST(half_to_float(0xc000) == -2.0F);
  BOOST_TEST(half_to_float(0x7bff) == 65504.0F);
  BOOST_TEST(half_to_float(0x0001) == 0x1p-24F);
  BOOST_TEST(half_to_float(0x83ff) == -0x1.ff8p-15F);
  BOOST_TEST(std::isinf(half_to_float(0x7c00)));
  BOOST_TEST(std::isnan(half_to_float(0x7e00)));
}

BOOST_AUTO_TEST_CASE(stored_types_become_floats_or_a_clear_error) {
  const auto half = tensor_of(dtype::f16, {2, 2}, {0x3c00, 0, 0xc000, 0x3c00});
  const auto wide = weight_source::of(half);
  BOOST_TEST_REQUIRE(wide.has_value());
  BOOST_TEST(wide->view().rows == 2u);
  BOOST_TEST(wide->to_floats() == std::vector<float>({1, 0, -2, 1}),
             boost::test_tools::per_element());
  const auto brain = tensor_of(dtype::bf16, {3}, {0x3f80, 0xbf80, 0x4000});
  const auto view = weight_source::of(brain);
  BOOST_TEST_REQUIRE(view.has_value());
  BOOST_TEST(view->to_floats() == std::vector<float>({1, -1, 2}),
             boost::test_tools::per_element());
  const auto whole = tensor_of(dtype::i16, {1}, {1});
  const auto refused = weight_source::of(whole);
  BOOST_TEST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().code == ec::unsupported));
  BOOST_TEST(refused.error().message.find("I16") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
