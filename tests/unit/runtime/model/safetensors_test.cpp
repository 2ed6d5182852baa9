// The strict reader against every lie a safetensors file can tell.
#include "runtime/model/safetensors.hpp"

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::test;

namespace {

/// The entry of an F32 tensor.
std::string entry(std::string_view name, std::string_view shape,
                  std::string_view offsets) {
  return fmt::format(R"("{}":{{"dtype":"F32","shape":{},"data_offsets":{}}})",
                     name, shape, offsets);
}

std::string object(std::initializer_list<std::string> entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

/// A file with an 8-byte length of our choice.
std::string with_length(uint64_t length, std::string_view rest) {
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, sizeof(length));
  return result.append(rest);
}

/// Header and a number of zero bytes.
std::string file(const std::string& header, size_t bytes) {
  return safetensors_bytes(header, std::string(bytes, '\0'));
}

struct broken_file {
  const char* what;
  std::string bytes;
  const char* cause; ///< Part of the message.
};

const auto ok = entry("a", "[1]", "[0,4]");

const broken_file broken_files[]{
  {"empty", "", "the file is empty"},
  {"seven bytes", "1234567", "at least 8 bytes, found 7"},
  {"length 0", with_length(0, "1234"), "expected a header"},
  {"length 2^63", with_length(uint64_t{1} << 63, "1234"), "at most 100000000"},
  {"length one above the limit", with_length(100'000'001, "{}"),
   "at most 100000000"},
  {"length all ones", with_length(~uint64_t{0}, "1234"), "at most 100000000"},
  {"length beyond the file", with_length(500, "{}"), "truncated"},
  {"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid x",
   "Git LFS pointer"},
  {"plain text", "Entry not found", "begins with the text \"Entry not found\""},
  {"truncated header whose length looks like a pickle's first bytes",
   with_length(0x280, "{\"a\":{"), "truncated: the header ends at byte 648"},
  {"web page", "<!DOCTYPE html><html><body>404</body></html>", "web page"},
  {"zip", std::string("PK\x03\x04\x14\x00\x00\x08\x08\x00", 10), "zip archive"},
  {"pickle", std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", 9), "pickle"},
  {"GGUF", std::string("GGUF\3\0\0\0\1\0\0\0", 12), "GGUF"},
  {"JSON text", "{\"weight_map\": {}}", "JSON"},
  {"no JSON", with_length(4, "abcd"), "begins with '{'"},
  {"list", with_length(2, "[]"), "begins with '{'"},
  {"syntax", with_length(4, "{\"a\""), "not valid JSON"},
  {"two objects", with_length(4, "{}{}"), "not valid JSON"},
  {"bad UTF-8", with_length(8, "{\"\xff\":{}}"), "not valid JSON"},
  {"duplicate tensor", file(object({ok, ok}), 4), "\"a\" stands twice"},
  {"duplicate key", file("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0),
   "\"dtype\" stands twice"},
  {"no object", file("{\"a\":5}", 0), "tensor \"a\": expected an object"},
  {"unknown key", file(object({with(ok, "\"shape\"", "\"x\":1,\"shape\"")}), 4),
   "unknown key \"x\""},
  {"no dtype", file(R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4),
   "dtype: expected a string"},
  {"odd dtype", file(object({with(ok, "F32", "F-33")}), 4), "\"F-33\""},
  {"no shape", file(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4),
   "shape: expected a list"},
  {"negative size", file(object({entry("a", "[-1]", "[0,4]")}), 4), "found -1"},
  {"fractional size", file(object({entry("a", "[1.0]", "[0,4]")}), 4),
   "found 1.0"},
  {"ten dimensions",
   file(object({entry("a", "[1,1,1,1,1,1,1,1,1,1]", "[0,4]")}), 4),
   "at most 8 dimensions"},
  {"shape overflow",
   file(object({entry("a", "[1099511627776,1099511627776]", "[0,4]")}), 4),
   "does not fit any file"},
  {"shape and range", file(object({entry("a", "[2]", "[0,4]")}), 4),
   "F32[2] needs 8 bytes, found 4"},
  {"no offsets", file(R"({"a":{"dtype":"F32","shape":[]}})", 4),
   "data_offsets: expected two numbers"},
  {"one offset", file(object({entry("a", "[1]", "[0]")}), 4),
   "expected two numbers"},
  {"begin behind end", file(object({entry("a", "[1]", "[4,0]")}), 4),
   "ends before"},
  {"negative offset", file(object({entry("a", "[1]", "[-4,0]")}), 4),
   "found -4"},
  {"fractional offset", file(object({entry("a", "[1]", "[0,4.5]")}), 4), "4.5"},
  {"offset 1e400", file(object({entry("a", "[1]", "[0,1e400]")}), 4),
   "not valid JSON"},
  {"offset 2^64",
   file(object({entry("a", "[1]", "[0,18446744073709551616]")}), 4),
   "data_offsets"},
  {"overlap",
   file(object({entry("a", "[2]", "[0,8]"), entry("b", "[2]", "[4,12]")}), 12),
   "tensors a and b overlap"},
  {"aliased",
   file(object({entry("a", "[2]", "[0,8]"), entry("b", "[2]", "[0,8]")}), 8),
   "overlap"},
  {"hole", file(object({ok, entry("b", "[1]", "[8,12]")}), 12),
   "hole of 4 bytes before tensor b"},
  {"hole at the begin", file(object({entry("b", "[1]", "[4,8]")}), 8),
   "hole of 4 bytes"},
  {"one byte short", file(object({ok}), 3), "truncated: tensor a ends"},
  {"one byte too many", file(object({ok}), 5), "1 bytes too many"},
  {"NUL in a name", file(object({entry("a\\u0000b", "[1]", "[0,4]")}), 4),
   "control characters"},
  {"empty name", file(object({entry("", "[1]", "[0,4]")}), 4),
   "control characters"},
  {"metadata no object", file(R"({"__metadata__":[]})", 0), "__metadata__"},
  {"metadata value", file(R"({"__metadata__":{"x":1}})", 0), "__metadata__"},
  {"too deep", file("{\"a\":" + std::string(100'000, '['), 0), "deeper than"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(safetensors_suite)

BOOST_AUTO_TEST_CASE(a_valid_file_is_listed_and_read) {
  scratch_folder folder;
  std::string data(24, '\0');
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<char>(i);
  // Out of order, with free text and padding behind the JSON.
  auto header =
    object({entry("b", "[2]", "[16,24]"), R"("__metadata__":{"format":"pt"})",
            entry("a", "[2,2]", "[0,16]")}) +
    "   ";
  auto path = folder.write("m.safetensors", safetensors_bytes(header, data));
  auto file = safetensors_file::open(path);
  BOOST_REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error().message));
  BOOST_TEST(file->tensors().size() == 2u);
  BOOST_TEST(file->metadata().at("format") == "pt");
  auto* b = file->find("b");
  BOOST_REQUIRE(b != nullptr);
  BOOST_TEST((b->dtype == kernels::dtype::f32));
  BOOST_TEST(b->bytes == 8u);
  BOOST_TEST(describe(*b) == "F32[2]");
  std::array<std::byte, 4> out{};
  BOOST_TEST(file->read(*b, 4, out).has_value());
  BOOST_TEST((out[0] == std::byte{20}));
  BOOST_TEST(file->bytes_read() == 4u);
  BOOST_TEST(file->find("c") == nullptr);
}

BOOST_AUTO_TEST_CASE(unusual_but_valid_headers_load) {
  scratch_folder folder;
  struct row {
    const char* what;
    std::string header;
    size_t data_bytes;
    size_t tensors;
  };
  const row rows[]{
    {"no tensor", "{}", 0, 0},
    {"empty metadata",
     object({R"("__metadata__":{})", entry("a", "[1]", "[0,4]")}), 4, 1},
    {"empty tensor at the end",
     object({entry("a", "[1]", "[0,4]"), entry("z", "[0]", "[4,4]")}), 4, 2},
    {"empty tensor at the begin",
     object({entry("z", "[0]", "[0,0]"), entry("a", "[1]", "[0,4]")}), 4, 2},
    {"empty tensor with a large size",
     object({entry("z", "[0,1099511627776,1099511627776]", "[0,0]")}), 0, 1},
    {"data at an odd offset",
     object({with(entry("a", "[1]", "[0,1]"), "F32", "U8"),
             entry("b", "[1]", "[1,5]")}),
     5, 2},
    {"scalar", object({entry("a", "[]", "[0,4]")}), 4, 1},
  };
  for (auto& row : rows) {
    auto path = folder.write(
      "m.safetensors",
      safetensors_bytes(row.header, std::string(row.data_bytes, '\1')));
    auto file = safetensors_file::open(path);
    BOOST_TEST_CONTEXT(row.what) {
      BOOST_REQUIRE_MESSAGE(file.has_value(),
                            (file ? "" : file.error().message));
      BOOST_TEST(file->tensors().size() == row.tensors);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_element_type_may_lie_there) {
  scratch_folder folder;
  // Three elements in two bytes: its size cannot be checked.
  auto header = object({with(entry("a", "[3]", "[0,2]"), "F32", "F5_E2M2"),
                        entry("b", "[1]", "[2,6]")});
  auto file = safetensors_file::open(folder.write(
    "m.safetensors", safetensors_bytes(header, std::string(6, '\1'))));
  BOOST_REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error().message));
  BOOST_TEST(file->find("a")->foreign_type == "F5_E2M2");
  BOOST_TEST(describe(*file->find("a")) == "F5_E2M2[3]");
  BOOST_TEST(file->find("b")->foreign_type.empty());
}

BOOST_AUTO_TEST_CASE(every_broken_file_is_refused_with_path_and_cause) {
  scratch_folder folder;
  for (auto& row : broken_files) {
    auto path = folder.write("broken.safetensors", row.bytes);
    auto x = safetensors_file::open(path);
    BOOST_TEST_CONTEXT(row.what) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::bad_format));
      BOOST_TEST(x.error().message.find(path) != std::string::npos);
      BOOST_TEST(x.error().message.find(row.cause) != std::string::npos,
                 row.cause << " is not in " << x.error().message);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_readable_file_is_refused) {
  scratch_folder folder;
  auto missing = safetensors_file::open(folder.path("none"));
  BOOST_REQUIRE(!missing.has_value());
  BOOST_TEST((missing.error().code == ec::not_found));
  auto is_folder = safetensors_file::open(folder.path());
  BOOST_REQUIRE(!is_folder.has_value());
  BOOST_TEST((is_folder.error().code == ec::bad_format));
  BOOST_TEST(is_folder.error().message.find("a folder") != std::string::npos);
  if (::geteuid() == 0)
    return; // root reads everything
  auto path = folder.write("secret", safetensors_bytes("{}", ""));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  auto secret = safetensors_file::open(path);
  BOOST_REQUIRE(!secret.has_value());
  BOOST_TEST((secret.error().code == ec::io));
}

BOOST_AUTO_TEST_CASE(a_truncated_file_names_expected_and_actual_bytes) {
  scratch_folder folder;
  auto bytes = one_tensor_file("w", 4, 4);
  auto whole = bytes.size();
  bytes.resize(whole - 10);
  auto path = folder.write("m.safetensors", bytes);
  auto x = safetensors_file::open(path);
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST(x.error().message.find(std::to_string(whole)) !=
             std::string::npos);
  BOOST_TEST(x.error().message.find(std::to_string(whole - 10)) !=
             std::string::npos);
  BOOST_TEST(x.error().message.find("Incomplete download") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_while_in_use_is_an_error) {
  scratch_folder folder;
  auto path = folder.write("m.safetensors", one_tensor_file("w", 64, 64));
  auto file = safetensors_file::open(path);
  BOOST_REQUIRE(file.has_value());
  auto* w = file->find("w");
  std::vector<std::byte> out(w->bytes);
  BOOST_TEST(file->read(*w, 0, out).has_value());
  std::filesystem::resize_file(path, file->file_bytes() - 1);
  auto x = file->read(*w, 0, out);
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::bad_format));
  BOOST_TEST(x.error().message.find(path) != std::string::npos);
  BOOST_TEST(x.error().message.find("cut short") != std::string::npos);
  // What is still there can still be read.
  BOOST_TEST(file->read(*w, 0, std::span{out}.first(100)).has_value());
}

BOOST_AUTO_TEST_CASE(a_lying_length_costs_no_memory) {
  scratch_folder folder;
  auto path = folder.write("m.safetensors", with_length(99'000'000, "{}"));
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  BOOST_TEST(!safetensors_file::open(path).has_value());
  ::getrusage(RUSAGE_SELF, &after);
  BOOST_TEST(after.ru_maxrss - before.ru_maxrss < 20'000);
}

BOOST_AUTO_TEST_CASE(damaged_files_never_crash) {
  scratch_folder folder;
  auto good = safetensors_bytes(object({entry("first", "[2,3]", "[0,24]"),
                                        entry("second", "[0]", "[24,24]"),
                                        R"("__metadata__":{"format":"pt"})",
                                        entry("third", "[4]", "[24,40]")}),
                                std::string(40, 'x'));
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  size_t refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto bytes = good;
    if (random() % 2 == 0)
      bytes.resize(random() % (good.size() + 1));
    for (auto flips = random() % 4; flips > 0 && !bytes.empty(); --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1u << (random() % 8));
    auto path = folder.write("m.safetensors", bytes);
    auto x = safetensors_file::open(path);
    if (!x) {
      ++refused;
      BOOST_TEST(x.error().message.find(path) != std::string::npos,
                 "seed " << seed);
      continue;
    }
    // Whatever was believed must be readable to the last byte.
    for (auto& [name, info] : x->tensors()) {
      std::vector<std::byte> out(info.bytes);
      BOOST_TEST(x->read(info, 0, out).has_value(), "seed " << seed);
    }
  }
  BOOST_TEST(refused > 1000u);
}

BOOST_AUTO_TEST_SUITE_END()
