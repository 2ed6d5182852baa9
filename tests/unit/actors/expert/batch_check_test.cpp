#include "actors/expert/batch_check.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <vector>

using namespace troupe;

namespace {

constexpr uint32_t hidden = 8;

batch_limits make_limits() {
  batch_limits x;
  x.layers = {layer_index{1}, layer_index{3}};
  x.experts = 4;
  x.hidden_size = hidden;
  x.row_type = kernels::dtype::bf16;
  x.rows_max = 16;
  x.pairs_max = 32;
  x.incarnation = 7;
  return x;
}

/// Two rows, three pairs: all that a shard of layer 3 can compute.
expert_batch make_batch() {
  expert_batch x;
  x.header.node_incarnation = 7;
  x.header.layer = 3;
  x.header.rows = 2;
  x.header.pairs = 3;
  x.header.row_type = static_cast<uint8_t>(kernels::dtype::bf16);
  x.header.reply_type = static_cast<uint8_t>(kernels::dtype::f32);
  std::vector<expert_pair> pairs{
    {0, expert_id{1}}, {1, expert_id{1}}, {1, expert_id{3}}};
  x.pairs = shared_bytes::copy_of_values<expert_pair>(pairs);
  std::vector<std::byte> rows(2 * hidden * 2);
  x.rows = shared_bytes::copy_of(rows);
  return x;
}

void set_pair(expert_batch& x, expert_pair first) {
  std::vector<expert_pair> pairs{first, {1, expert_id{1}}, {1, expert_id{3}}};
  x.pairs = shared_bytes::copy_of_values<expert_pair>(pairs);
}

} // namespace

BOOST_AUTO_TEST_SUITE(batch_check_suite)

BOOST_AUTO_TEST_CASE(a_batch_that_fits_the_model_passes) {
  auto x = make_batch();
  BOOST_TEST(check_batch(x, make_limits()).has_value());
  // Rows may come later.
  x.rows = x.rows.slice(0, hidden * 2);
  BOOST_TEST(check_batch(x, make_limits()).has_value());
}

BOOST_AUTO_TEST_CASE(a_batch_that_lies_in_any_field_is_refused) {
  struct row {
    ec code;
    std::function<void(expert_batch&)> breaks;
  };
  std::vector<row> table{
    {ec::protocol_mismatch,
     [](auto& x) { x.header.format = batch_format + 1; }},
    {ec::invalid_argument, [](auto& x) { x.header.node_incarnation = 8; }},
    {ec::invalid_argument, [](auto& x) { x.header.layer = 2; }},
    {ec::invalid_argument, [](auto& x) { x.header.layer = UINT32_MAX; }},
    {ec::shape_mismatch, [](auto& x) { x.header.rows = 0; }},
    {ec::shape_mismatch, [](auto& x) { x.header.rows = 17; }},
    {ec::shape_mismatch, [](auto& x) { x.header.rows = UINT32_MAX; }},
    {ec::shape_mismatch, [](auto& x) { x.header.pairs = 0; }},
    {ec::shape_mismatch, [](auto& x) { x.header.pairs = 2; }},
    {ec::shape_mismatch, [](auto& x) { x.header.pairs = UINT32_MAX; }},
    {ec::shape_mismatch, [](auto& x) { x.header.row_type = 0; }},
    {ec::shape_mismatch, [](auto& x) { x.header.row_type = 255; }},
    {ec::shape_mismatch, [](auto& x) { x.header.reply_type = 9; }},
    {ec::shape_mismatch, [](auto& x) { x.pairs = {}; }},
    {ec::shape_mismatch, [](auto& x) { x.pairs = x.pairs.slice(0, 35); }},
    {ec::shape_mismatch, [](auto& x) { x.rows = {}; }},
    {ec::shape_mismatch, [](auto& x) { x.rows = x.rows.slice(0, 31); }},
    {ec::shape_mismatch, [](auto& x) { x.header.rows = 1; }},
    {ec::invalid_argument,
     [](auto& x) {
       set_pair(x, {2, expert_id{0}});
     }},
    {ec::invalid_argument,
     [](auto& x) {
       set_pair(x, {0, expert_id{4}});
     }},
    {ec::invalid_argument,
     [](auto& x) {
       set_pair(x, {0, expert_id{0}, std::numeric_limits<float>::infinity()});
     }},
    {ec::invalid_argument,
     [](auto& x) {
       set_pair(x, {0, expert_id{0}, std::numeric_limits<float>::quiet_NaN()});
     }},
    {ec::protocol_mismatch,
     [](auto& x) {
       x = {};
       x.header.format = 0;
     }},
  };
  for (size_t i = 0; i < table.size(); ++i) {
    auto x = make_batch();
    table[i].breaks(x);
    auto checked = check_batch(x, make_limits());
    BOOST_TEST_CONTEXT("row " << i) {
      BOOST_REQUIRE(!checked.has_value());
      BOOST_TEST((checked.error().code == table[i].code));
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_rows_come_in_order_and_fit) {
  auto limits = make_limits();
  std::vector<std::byte> rows(2 * hidden * 2);
  expert_rows_piece x{1, 3, shared_bytes::copy_of(rows)};
  BOOST_TEST(check_piece(x, 5, 3, limits).has_value());
  BOOST_TEST(!check_piece(x, 4, 3, limits).has_value());
  BOOST_TEST(!check_piece(x, 5, 2, limits).has_value());
  BOOST_TEST(!check_piece(x, 5, 4, limits).has_value());
  x.rows = x.rows.slice(0, 17);
  BOOST_TEST(!check_piece(x, 5, 3, limits).has_value());
  x.rows = {};
  BOOST_TEST(!check_piece(x, 5, 3, limits).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
