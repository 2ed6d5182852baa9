// oneDNN as a second opinion: its AMX tiles read our packed bytes and give the
// bits of the rule; its f32 tiles agree with each other at all chosen heights.
#include "kernels/dnnl_context.hpp"

#include "kernels/f32_tiles.hpp"
#include "kernels/matmul.hpp"
#include "tests/unit/kernels/probe.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::kernels;
using namespace troupe::kernels::test;

BOOST_AUTO_TEST_SUITE(dnnl_context_test)

BOOST_AUTO_TEST_CASE(amx_tiles_of_onednn_have_the_bits_of_the_rule) {
  if (!supported(isa::amx)) {
    BOOST_TEST_MESSAGE("no AMX here: not compared");
    return;
  }
  const compute_options options{isa::amx, numeric_mode::bf16};
  constexpr size_t outputs = 256;
  lanes pool({.count = 0});
  for (const size_t inputs : {64u, 768u, 2048u})
    for (const size_t rows : {16u, 32u}) {
      const auto tile =
        dnnl_tile::make({rows, inputs, outputs, inputs}, options);
      BOOST_REQUIRE(tile.has_value());
      const auto source = random_bf16(outputs * inputs, 1);
      const auto x = random_bf16(rows * inputs, 2);
      const auto w = packed_weight::pack(
        as_activation(source.data(), outputs, inputs), options);
      BOOST_REQUIRE(tile->weight_bytes() == w.size_bytes());
      aligned_buffer packed(tile->weight_bytes());
      tile->pack(source.data(), packed.data());
      BOOST_TEST(std::memcmp(packed.data(), w.data(), w.size_bytes()) == 0);
      std::vector<float> ours(rows * outputs), theirs(rows * outputs);
      tile->run(x.data(), w.data(), theirs.data());
      matmul(w, as_activation(x.data(), rows, inputs),
             {ours.data(), rows, outputs, outputs}, pool);
      BOOST_TEST(same_bits(ours, theirs), "K " << inputs << ", M " << rows);
    }
}

BOOST_AUTO_TEST_CASE(f32_tiles_start_from_the_reference_height) {
  const f32_tiles tiles(300, best_isa());
  BOOST_REQUIRE(!tiles.heights().empty());
  BOOST_TEST(tiles.heights().front() == f32_tiles::reference_rows);
  for (const size_t height : tiles.heights())
    BOOST_TEST_MESSAGE("height " << height);
}

BOOST_AUTO_TEST_SUITE_END()
