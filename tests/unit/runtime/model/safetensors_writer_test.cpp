// What is written can be read by the strict reader.
#include "runtime/model/safetensors_writer.hpp"

#include "runtime/model/safetensors.hpp"
#include "scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>

using namespace troupe;
using kernels::dtype;

namespace {

const std::vector<float> values{1.5f, -2.0f, 0.0f, 4.0f, 5.0f, 6.0f};
const std::vector<int32_t> ids{7, 8, 9};

std::vector<tensor_source> two_tensors() {
  return {{"logits", dtype::f32, {2, 3}, std::as_bytes(std::span{values})},
          {"ids", dtype::i32, {3}, std::as_bytes(std::span{ids})}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(safetensors_writer_suite)

BOOST_AUTO_TEST_CASE(written_tensors_come_back_as_they_were) {
  test::scratch_folder folder;
  auto path = folder.path("out.safetensors");
  BOOST_TEST_REQUIRE(write_safetensors(path, two_tensors()).has_value());
  auto file = safetensors_file::open(path);
  BOOST_TEST_REQUIRE(file.has_value(),
                     (file ? std::string{} : file.error().message));
  BOOST_TEST(file->tensors().size() == 2u);
  auto* info = file->find("logits");
  BOOST_TEST_REQUIRE(info != nullptr);
  BOOST_TEST((info->dtype == dtype::f32));
  BOOST_TEST((info->shape == std::vector<uint64_t>{2, 3}));
  BOOST_TEST(info->offset % 8 == 0u);
  std::vector<float> back(values.size());
  BOOST_TEST_REQUIRE(
    file->read(*info, 0, std::as_writable_bytes(std::span{back})).has_value());
  BOOST_TEST(back == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_older_file_is_replaced) {
  test::scratch_folder folder;
  auto path = folder.write("out.safetensors", std::string(1000, 'x'));
  BOOST_TEST_REQUIRE(write_safetensors(path, two_tensors()).has_value());
  BOOST_TEST(safetensors_file::open(path).has_value());
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_written_is_named) {
  test::scratch_folder folder;
  auto path = folder.path("no/such/folder.safetensors");
  auto written = write_safetensors(path, two_tensors());
  BOOST_TEST_REQUIRE(!written.has_value());
  BOOST_TEST((written.error().code == ec::io));
  BOOST_TEST(written.error().message.find(path) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_an_error) {
  if (!std::filesystem::exists("/dev/full")) {
    BOOST_TEST_MESSAGE("skipped: there is no /dev/full");
    return;
  }
  test::scratch_folder folder;
  auto path = folder.path("full");
  std::filesystem::create_symlink("/dev/full", path);
  auto written = write_safetensors(path, two_tensors());
  BOOST_TEST_REQUIRE(!written.has_value());
  BOOST_TEST((written.error().code == ec::io));
}

BOOST_AUTO_TEST_SUITE_END()
