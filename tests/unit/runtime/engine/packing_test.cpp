// Quantised matrices as a checkpoint stores them: what they are worth, that the
// pass gets them as stored, and what is said about scales that are no numbers.
#include "runtime/engine/packing.hpp"

#include "runtime/model/stored_matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <limits>
#include <string>

using namespace troupe;
using kernels::dtype;
using kernels::weight_format;

namespace {

template <class T>
host_tensor tensor(dtype type, std::vector<uint64_t> shape,
                   const std::vector<T>& values) {
  auto out = make_host_tensor(type, std::move(shape));
  BOOST_REQUIRE(out.bytes == values.size() * sizeof(T));
  std::memcpy(out.data.get(), values.data(), out.bytes);
  return out;
}

host_tensor bytes(dtype type, std::vector<uint64_t> shape, uint8_t value) {
  auto out = make_host_tensor(type, std::move(shape));
  std::memset(out.data.get(), value, out.bytes);
  return out;
}

/// FP8 [130, 140] of ones.
stored_matrix fp8_ones(host_tensor scales) {
  stored_matrix out;
  out.format = weight_format::fp8_block;
  out.rows = 130;
  out.cols = 140;
  out.values = bytes(dtype::f8_e4m3, {130, 140}, 0x38);
  out.scales = std::move(scales);
  return out;
}

/// MXFP4 [2, 32] of the codes 2 (1.0) and 15 (-6).
stored_matrix mxfp4_rows(std::vector<uint8_t> scales) {
  stored_matrix out;
  out.format = weight_format::mxfp4;
  out.rows = 2;
  out.cols = 32;
  out.values = bytes(dtype::u8, {2, 16}, 0xf2);
  out.scales = tensor(dtype::u8, {2, 1}, scales);
  return out;
}

std::vector<float> values_of(const stored_matrix& x) {
  const auto source = matrix_source::of(x);
  BOOST_TEST_REQUIRE(source.has_value());
  std::vector<float> out(x.rows * x.cols);
  kernels::expand(kernels::best_isa(), source->codes(),
                  kernels::as_output(out.data(), x.rows, x.cols));
  return out;
}

void check_refused(const stored_matrix& x, std::string_view part_of_message) {
  const auto source = matrix_source::of(x);
  BOOST_TEST_REQUIRE(!source.has_value());
  BOOST_TEST((source.error().code == ec::bad_format));
  BOOST_TEST(source.error().message.find(part_of_message) != std::string::npos,
             source.error().message);
}

} // namespace

BOOST_AUTO_TEST_SUITE(packing_test)

BOOST_AUTO_TEST_CASE(fp8_is_worth_its_elements_times_the_scale_of_its_block) {
  const auto all =
    values_of(fp8_ones(tensor<float>(dtype::f32, {2, 2}, {1, 2, 3, 4})));
  BOOST_TEST(all[0] == 1);
  BOOST_TEST(all[127 * 140 + 127] == 1);
  BOOST_TEST(all[127 * 140 + 128] == 2);
  BOOST_TEST(all[128 * 140 + 127] == 3);
  BOOST_TEST(all[129 * 140 + 139] == 4);
}

BOOST_AUTO_TEST_CASE(fp8_scales_may_be_narrow) {
  const auto brain = values_of(fp8_ones(
    tensor<uint16_t>(dtype::bf16, {2, 2}, {0x3f80, 0x4000, 0x4040, 0x4080})));
  BOOST_TEST(brain.back() == 4);
  const auto powers = values_of(
    fp8_ones(tensor<uint8_t>(dtype::f8_e8m0, {2, 2}, {127, 126, 0, 129})));
  BOOST_TEST(powers[0] == 1);
  BOOST_TEST(powers[128] == 0.5f);
  BOOST_TEST(powers[128 * 140] == 0x1p-127f);
  BOOST_TEST(powers.back() == 4);
}

BOOST_AUTO_TEST_CASE(mxfp4_is_worth_its_elements_times_a_power_of_two) {
  const auto all = values_of(mxfp4_rows({130, 126}));
  BOOST_TEST(all[0] == 8);
  BOOST_TEST(all[31] == -48);
  BOOST_TEST(all[32] == 0.5f);
  BOOST_TEST(all[63] == -3);
}

BOOST_AUTO_TEST_CASE(quantised_matrices_are_packed_as_stored) {
  const kernels::compute_options options;
  const auto packed = pack_matrix(mxfp4_rows({130, 126}), options);
  BOOST_TEST_REQUIRE(packed.has_value());
  BOOST_TEST((packed->format() == weight_format::mxfp4));
  const auto wide = pack_matrix(
    fp8_ones(tensor<float>(dtype::f32, {2, 2}, {1, 2, 3, 4})), options);
  BOOST_TEST_REQUIRE(wide.has_value());
  BOOST_TEST((wide->format() == weight_format::fp8_block));
  BOOST_TEST(wide->outputs() == 130u);
  BOOST_TEST(wide->inputs() == 140u);
}

BOOST_AUTO_TEST_CASE(scales_that_are_no_numbers_are_refused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check_refused(fp8_ones(tensor<float>(dtype::f32, {2, 2}, {1, 2, nan, 4})),
                "scale 2 is nan");
  const float infinity = std::numeric_limits<float>::infinity();
  check_refused(
    fp8_ones(tensor<float>(dtype::f32, {2, 2}, {infinity, 2, 1, 4})),
    "scale 0 is inf");
  check_refused(
    fp8_ones(tensor<uint8_t>(dtype::f8_e8m0, {2, 2}, {127, 255, 0, 129})),
    "scale 1 is nan");
  check_refused(mxfp4_rows({0, 255}), "scale 1 is 255");
}

BOOST_AUTO_TEST_SUITE_END()
