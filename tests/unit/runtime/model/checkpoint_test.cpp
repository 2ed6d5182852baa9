// Folders of weights: one file, or shards under the law of an index.
#include "runtime/model/checkpoint.hpp"

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr const char* index_name = "model.safetensors.index.json";

/// Two shards with one tensor each.
void write_sharded(const scratch_folder& folder) {
  folder.write("s1.safetensors", one_tensor_file("a", 2, 2));
  folder.write("s2.safetensors", one_tensor_file("b", 3, 3));
  folder.write(index_name, R"({"metadata":{},"weight_map":{
    "a":"s1.safetensors","b":"s2.safetensors"}})");
}

bool mentions(const error& x, std::string_view part) {
  return x.message.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(checkpoint_suite)

BOOST_AUTO_TEST_CASE(one_file_is_a_checkpoint) {
  scratch_folder folder;
  folder.write("model.safetensors", one_tensor_file("w", 2, 3));
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->file_count() == 1u);
  BOOST_TEST(x->tensor_bytes() == 12u);
  auto w = x->load("w");
  BOOST_REQUIRE(w.has_value());
  BOOST_TEST(w->elements() == 6u);
  kernels::bf16 last;
  std::memcpy(&last, w->view().data() + 10, sizeof(last));
  BOOST_TEST(kernels::to_float(last) == 5.0f);
  BOOST_TEST(x->bytes_read() == 12u);
  BOOST_TEST(!x->load("v").has_value());
  std::array<std::byte, 8> out{};
  BOOST_TEST(x->read("w", 4, out).has_value());
  BOOST_TEST(!x->read("w", 5, out).has_value());
}

BOOST_AUTO_TEST_CASE(a_stamp_changes_with_the_files_and_with_nothing_else) {
  test::scratch_folder folder;
  const auto path =
    folder.write("model.safetensors", test::one_tensor_file("w", 2, 3));
  const auto before = checkpoint::open(folder.path()).value().stamp();
  folder.write("config.json", "{}");
  const auto x = checkpoint::open(folder.path()).value();
  BOOST_TEST(x.stamp() == before);
  namespace fs = std::filesystem;
  fs::last_write_time(path,
                      fs::last_write_time(path) + std::chrono::seconds{1});
  BOOST_TEST(x.stamp() != before); // of a file that is open already, too
  BOOST_TEST(checkpoint::open(folder.path()).value().stamp() == x.stamp());
  // The same size and time, but another file.
  const auto time = fs::last_write_time(path);
  folder.write("other", test::one_tensor_file("w", 2, 3));
  fs::rename(folder.path("other"), path);
  fs::last_write_time(path, time);
  BOOST_TEST(checkpoint::open(folder.path()).value().stamp() != x.stamp());
}

BOOST_AUTO_TEST_CASE(shards_are_one_set_of_tensors) {
  scratch_folder folder;
  write_sharded(folder);
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE_MESSAGE(x.has_value(), (x ? "" : x.error().message));
  BOOST_TEST(x->file_count() == 2u);
  BOOST_TEST(x->names().size() == 2u);
  BOOST_TEST(x->file_of("b") == folder.path("s2.safetensors"));
  BOOST_TEST(x->load("b")->elements() == 9u);
}

BOOST_AUTO_TEST_CASE(the_index_decides_which_copy_counts) {
  scratch_folder folder;
  write_sharded(folder);
  // A stale copy of "a" in the other shard, and a stray file, both of other
  // shapes than the right ones.
  folder.write("s2.safetensors",
               safetensors_bytes(
                 R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[2,4]}})",
                 "abcd"));
  folder.write("model.safetensors", one_tensor_file("a", 9, 9));
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->names().size() == 2u);
  BOOST_TEST(x->load("a")->elements() == 4u);
  BOOST_TEST(x->file_of("a") == folder.path("s1.safetensors"));
}

BOOST_AUTO_TEST_CASE(all_faults_of_the_shards_are_told_at_once) {
  scratch_folder folder;
  write_sharded(folder);
  folder.write("s2.safetensors", "<html>");
  folder.write(index_name, R"({"weight_map":{"a":"s1.safetensors",
    "b":"s2.safetensors","c":"s3.safetensors","d":"s1.safetensors"}})");
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "3 problems"));
  BOOST_TEST(mentions(x.error(), "s2.safetensors"));
  BOOST_TEST(mentions(x.error(), "web page"));
  BOOST_TEST(mentions(x.error(), "s3.safetensors"));
  BOOST_TEST(mentions(x.error(), "s1.safetensors: tensor d is not in it"));
}

BOOST_AUTO_TEST_CASE(an_index_that_cannot_be_trusted_is_refused) {
  const std::pair<const char*, const char*> rows[]{
    {"", "not valid JSON"},
    {"[]", "expected an object"},
    {"{}", "weight_map"},
    {R"({"weight_map":[]})", "weight_map"},
    {R"({"weight_map":{}})", "at least one tensor"},
    {R"({"weight_map":{"a":1}})", "name of a .safetensors file for a"},
    {R"({"weight_map":{"a":"../s1.safetensors"}})", "../s1.safetensors"},
    {R"({"weight_map":{"a":"/etc/passwd"}})", "/etc/passwd"},
    {R"({"weight_map":{"a":"s1.bin"}})", "s1.bin"},
    {R"({"weight_map":{"a":"s1.safetensors","a":"s2.safetensors"}})",
     "\"a\" stands twice"}};
  scratch_folder folder;
  write_sharded(folder);
  for (auto& [text, what] : rows) {
    folder.write(index_name, text);
    auto x = checkpoint::open(folder.path());
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::bad_format));
      BOOST_TEST(mentions(x.error(), index_name));
      BOOST_TEST(mentions(x.error(), what), x.error().message);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_folder_without_weights_says_what_was_looked_for) {
  scratch_folder folder;
  auto empty = checkpoint::open(folder.path());
  BOOST_REQUIRE(!empty.has_value());
  BOOST_TEST((empty.error().code == ec::not_found));
  BOOST_TEST(mentions(empty.error(), "model.safetensors"));
  auto missing = checkpoint::open(folder.path("none"));
  BOOST_REQUIRE(!missing.has_value());
  BOOST_TEST((missing.error().code == ec::not_found));
}

BOOST_AUTO_TEST_SUITE_END()
