// Folders of weights: one file, or shards under the law of an index.
#include "runtime/model/checkpoint.hpp"

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

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

BOOST_AUTO_TEST_CASE(missing_shards_are_one_fault_that_names_all) {
  scratch_folder folder;
  std::string map;
  for (int i = 1; i <= 163; ++i)
    map += fmt::format("{}\"t.{}\":\"m-{:05}-of-00163.safetensors\"",
                       map.empty() ? "" : ",", i, i);
  folder.write(index_name, fmt::format("{{\"weight_map\":{{{}}}}}", map));
  folder.write("m-00002-of-00163.safetensors", one_tensor_file("t.2", 1, 1));
  folder.write("m-00003-of-00163.safetensors.incomplete", "");
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::not_found));
  BOOST_TEST(mentions(x.error(), "162 of the 163 files"), x.error().message);
  BOOST_TEST(
    mentions(x.error(), "m-{00001,00003-00163}-of-00163.safetensors (162)"));
  BOOST_TEST(x.error().message.size() < 500u);
}

BOOST_AUTO_TEST_CASE(tensors_that_a_shard_lacks_are_named) {
  scratch_folder folder;
  write_sharded(folder);
  folder.write(index_name, R"({"weight_map":{"a":"s1.safetensors",
    "b":"s2.safetensors","l.0.c":"s1.safetensors","l.1.c":"s1.safetensors"}})");
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::bad_format));
  BOOST_TEST(
    mentions(x.error(), "s1.safetensors: 2 tensors: l.{0,1}.c (2) are not in"),
    x.error().message);
}

BOOST_AUTO_TEST_CASE(what_is_not_used_is_warned_of) {
  scratch_folder folder;
  write_sharded(folder);
  BOOST_TEST(checkpoint::open(folder.path())->warnings().empty());
  // A stale copy of "a" in the other shard, stray files, another sum.
  folder.write("s2.safetensors",
               safetensors_bytes(
                 R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[2,4]}})",
                 "abcd"));
  folder.write("model.safetensors", "not even looked at");
  folder.write("s3.safetensors.incomplete", "");
  folder.write(index_name, R"({"metadata":{"total_size":11},"weight_map":{
    "a":"s1.safetensors","b":"s2.safetensors"}})");
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(x.has_value());
  auto& all = x->warnings();
  BOOST_REQUIRE(all.size() == 4u);
  BOOST_TEST(all[0].find("total_size is 11, but the tensors have 10 bytes") !=
             std::string::npos);
  BOOST_TEST(all[1].find("s2.safetensors: ignored 1 tensor") !=
             std::string::npos);
  BOOST_TEST(all[2].find("ignored model.safetensors") != std::string::npos);
  BOOST_TEST(all[3].find("s3.safetensors.incomplete") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_right_total_and_an_odd_one_are_no_matter) {
  for (auto total : {"26", "26.0", "-1", "\"x\"", "null"}) {
    scratch_folder folder;
    write_sharded(folder);
    folder.write(index_name,
                 fmt::format(R"({{"metadata":{{"total_size":{}}},"weight_map":
                   {{"a":"s1.safetensors","b":"s2.safetensors"}}}})",
                             total));
    auto x = checkpoint::open(folder.path());
    BOOST_REQUIRE(x.has_value());
    BOOST_TEST(x->warnings().empty(), total);
  }
}

BOOST_AUTO_TEST_CASE(one_file_wins_over_shards_without_an_index) {
  scratch_folder folder;
  folder.write("model.safetensors", one_tensor_file("w", 2, 3));
  folder.write("model-00001-of-00002.safetensors", "");
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(x.has_value());
  BOOST_REQUIRE(x->warnings().size() == 1u);
  BOOST_TEST(x->warnings()[0].find("model-00001-of-00002.safetensors") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_link_to_nothing_is_not_an_absent_file) {
  scratch_folder folder;
  write_sharded(folder);
  std::filesystem::remove(folder.path("s2.safetensors"));
  std::filesystem::create_symlink("../blobs/77", folder.path("s2.safetensors"));
  auto x = checkpoint::open(folder.path());
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(mentions(x.error(), "symbolic link to ../blobs/77"));
  // Through links that lead somewhere it is the same checkpoint.
  std::filesystem::create_directory(folder.path("blobs"));
  folder.write("blobs/78", one_tensor_file("b", 3, 3));
  std::filesystem::remove(folder.path("s2.safetensors"));
  std::filesystem::create_symlink("blobs/78", folder.path("s2.safetensors"));
  BOOST_TEST(checkpoint::open(folder.path()).has_value());
  // A dangling index does not hand over to model.safetensors.
  folder.write("model.safetensors", one_tensor_file("a", 2, 2));
  std::filesystem::remove(folder.path(index_name));
  std::filesystem::create_symlink("blobs/79", folder.path(index_name));
  auto y = checkpoint::open(folder.path());
  BOOST_REQUIRE(!y.has_value());
  BOOST_TEST(mentions(y.error(), index_name));
}

BOOST_AUTO_TEST_CASE(a_folder_of_other_formats_says_what_is_there) {
  const std::pair<const char*, const char*> rows[]{
    {"pytorch_model-00001-of-00002.bin", "of another format"},
    {"model.gguf", "of another format"},
    {"model-00001-of-00002.safetensors", "without the index"},
    {"model.safetensors.incomplete", "the download has not ended"}};
  for (auto& [name, says] : rows) {
    scratch_folder folder;
    folder.write(name, "");
    auto x = checkpoint::open(folder.path());
    BOOST_REQUIRE(!x.has_value());
    BOOST_TEST((x.error().code == ec::not_found));
    BOOST_TEST(mentions(x.error(), name), x.error().message);
    BOOST_TEST(mentions(x.error(), says), x.error().message);
  }
}

BOOST_AUTO_TEST_CASE(an_index_that_cannot_be_trusted_is_refused) {
  const std::pair<const char*, const char*> rows[]{
    {"", "the file is empty"},
    {"{\"weight_map\":", "cut short"},
    {"<!doctype html>", "web page"},
    {"[]", "expected an object"},
    {"{}", "weight_map"},
    {R"({"weight_map":[]})", "weight_map"},
    {R"({"weight_map":{}})", "at least one tensor"},
    {R"({"weight_map":{"a":1}})", "name of a .safetensors file for \"a\""},
    {R"({"weight_map":{"a":"../s1.safetensors"}})", "../s1.safetensors"},
    {R"({"weight_map":{"a":"/etc/passwd"}})", "/etc/passwd"},
    {R"({"weight_map":{"a":"./s1.safetensors"}})", "./s1.safetensors"},
    {R"({"weight_map":{"a":"..\\s1.safetensors"}})", "a path"},
    {R"({"weight_map":{"a":".safetensors"}})", "another kind of file"},
    {R"({"weight_map":{"a":".s.safetensors"}})", "hidden"},
    {R"({"weight_map":{"a":""}})", "another kind of file"},
    {R"({"weight_map":{"a":"s\u0000.safetensors"}})", "control characters"},
    {R"({"weight_map":{"a":"/x.safetensors","b":"../y.safetensors"}})",
     "2 problems"},
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
