// Buffers: alignment, ownership, zeroed memory.
#include "kernels/tensor.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>

using namespace troupe::kernels;

namespace {

bool is_aligned(const aligned_buffer& buffer, size_t to) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % to == 0;
}

bool is_zero(const aligned_buffer& buffer) {
  return std::ranges::all_of(buffer.as<uint8_t>(),
                             [](uint8_t x) { return x == 0; });
}

} // namespace

BOOST_AUTO_TEST_SUITE(tensor_test)

BOOST_AUTO_TEST_CASE(small_buffers_start_on_a_cache_line) {
  const aligned_buffer buffer(100);
  BOOST_TEST(is_aligned(buffer, 64));
  BOOST_TEST(buffer.size_bytes() == 100u);
  BOOST_TEST(is_zero(buffer));
}

BOOST_AUTO_TEST_CASE(large_buffers_start_on_a_huge_page) {
  for (const size_t bytes : {size_t{2} << 20, (size_t{5} << 20) + 17}) {
    const aligned_buffer buffer(bytes);
    BOOST_TEST(is_aligned(buffer, aligned_buffer::huge_page_bytes));
    BOOST_TEST(is_zero(buffer));
  }
}

BOOST_AUTO_TEST_CASE(a_moved_buffer_leaves_an_empty_one) {
  aligned_buffer from(size_t{3} << 20);
  const auto* data = from.data();
  aligned_buffer to(64);
  to = std::move(from);
  BOOST_TEST(to.data() == data);
  BOOST_TEST(from.empty());
  BOOST_TEST(from.data() == nullptr);
}

BOOST_AUTO_TEST_CASE(rows_of_a_view_are_a_stride_apart) {
  std::vector<float> values(12);
  const matrix_view<float> view{values.data(), 3, 2, 4};
  BOOST_TEST(view.row(2) == values.data() + 8);
  const activation_view typed{values.data(), dtype::f32, 3, 2, 4};
  BOOST_TEST(typed.row(1) == reinterpret_cast<std::byte*>(values.data() + 4));
}

BOOST_AUTO_TEST_SUITE_END()
