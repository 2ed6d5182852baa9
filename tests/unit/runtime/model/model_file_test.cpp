// Files that are not what they should be, and reads that do not go well.
#include "runtime/model/model_file.hpp"

#include "runtime/model/foreign_content.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace troupe;
using namespace troupe::test;

namespace fs = std::filesystem;

namespace {

bool mentions(const error& x, std::string_view part) {
  return x.message.find(part) != std::string::npos;
}

/// A file whose reads end as a script says: a count, or a negative errno. Its
/// byte at offset i is i.
struct scripted_file {
  std::deque<int> script;
  size_t calls = 0;

  read_at reader() {
    return [this](std::span<std::byte> out, uint64_t offset) -> ssize_t {
      ++calls;
      BOOST_REQUIRE(!script.empty());
      auto step = script.front();
      script.pop_front();
      if (step < 0) {
        errno = -step;
        return -1;
      }
      auto count = std::min(out.size(), static_cast<size_t>(step));
      for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::byte>(offset + i);
      return static_cast<ssize_t>(count);
    };
  }
};

struct foreign_row {
  const char* what;
  std::string bytes;
  const char* meaning;
  bool json_too; ///< Foreign where JSON is wanted, as well.
};

const foreign_row foreign_rows[]{
  {"pointer",
   "version https://git-lfs.github.com/spec/v1\noid sha256:9f\nsize "
   "988097824\n",
   "Git LFS pointer to 988097824 bytes", true},
  {"pointer without size", "version https://git-lfs.github.com/spec/v1\n",
   "Git LFS pointer to the file", true},
  {"web page", "<!DOCTYPE html><html></html>", "web page", true},
  {"web page behind spaces", "\xef\xbb\xbf\r\n  <HTML lang=en>", "web page",
   true},
  {"XML of an object store", "<?xml version=\"1.0\"?><Error>", "web page",
   true},
  {"zip", std::string("PK\x03\x04\x14\x00\x00\x08", 8), "zip archive", true},
  {"pickle", "\x80\x02\x8a\x0al", "Python pickle", true},
  {"newer pickle", "\x80\x05\x8a\x0al", "Python pickle", true},
  {"GGUF", std::string("GGUF\3\0\0\0", 8), "GGUF", true},
  {"HDF5", "\x89HDF\r\n\x1a\n", "HDF5", true},
  {"gzip", "\x1f\x8b\x08", "gzip", true},
  {"JSON", " {\"error\": \"not found\"}", "JSON text", false},
};

} // namespace

BOOST_AUTO_TEST_SUITE(model_file_suite)

BOOST_AUTO_TEST_CASE(foreign_contents_are_told_apart) {
  for (auto& row : foreign_rows)
    BOOST_TEST_CONTEXT(row.what) {
      auto found = foreign_content(row.bytes, wanted_content::safetensors);
      BOOST_TEST(found.find(row.meaning) != std::string::npos, found);
      BOOST_TEST(found.find(": ") != std::string::npos, "no remedy: " << found);
      auto as_json = foreign_content(row.bytes, wanted_content::json);
      BOOST_TEST(!as_json.empty() == row.json_too);
    }
  BOOST_TEST(foreign_content("", wanted_content::safetensors).empty());
  BOOST_TEST(
    foreign_content(safetensors_bytes("{}", ""), wanted_content::safetensors)
      .empty());
}

BOOST_AUTO_TEST_CASE(only_plain_text_is_quoted) {
  BOOST_TEST(quoted_text("Entry not found\nmore") == "\"Entry not found\"");
  BOOST_TEST(quoted_text(std::string(100, 'x')) ==
             "\"" + std::string(60, 'x') + "...\"");
  BOOST_TEST(quoted_text("a\x01").empty());
  BOOST_TEST(quoted_text("\xff\xfe").empty());
  BOOST_TEST(quoted_text("").empty());
}

BOOST_AUTO_TEST_CASE(short_reads_and_interruptions_are_carried_on) {
  scripted_file file{{3, -EINTR, 1, -EINTR, -EINTR, 100}};
  std::array<std::byte, 10> out{};
  BOOST_TEST(read_fully(file.reader(), "f", 7, out).has_value());
  for (size_t i = 0; i < out.size(); ++i)
    BOOST_TEST((out[i] == static_cast<std::byte>(7 + i)));
  BOOST_TEST(file.calls == 6u);
}

BOOST_AUTO_TEST_CASE(one_failed_read_of_a_disk_is_repeated) {
  scripted_file file{{4, -EIO, -EIO, 100}};
  std::array<std::byte, 10> out{};
  BOOST_TEST(read_fully(file.reader(), "f", 0, out).has_value());
  BOOST_TEST((out[9] == std::byte{9}));
}

BOOST_AUTO_TEST_CASE(a_disk_that_keeps_failing_is_named_with_the_offset) {
  scripted_file file{{4, -EIO, -EIO, -EIO}};
  std::array<std::byte, 10> out{};
  auto x = read_fully(file.reader(), "dir/model.safetensors", 100, out);
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::io));
  BOOST_TEST(mentions(x.error(), "dir/model.safetensors"));
  BOOST_TEST(mentions(x.error(), "6 bytes at offset 104"));
  BOOST_TEST(file.calls == 4u);
}

BOOST_AUTO_TEST_CASE(other_failures_of_a_read_are_final) {
  scripted_file file{{-EBADF}};
  std::array<std::byte, 10> out{};
  BOOST_TEST(!read_fully(file.reader(), "f", 0, out).has_value());
  BOOST_TEST(file.calls == 1u);
}

BOOST_AUTO_TEST_CASE(the_end_before_the_end_is_an_error) {
  scripted_file file{{4, 0}};
  std::array<std::byte, 10> out{};
  auto x = read_fully(file.reader(), "f", 100, out);
  BOOST_REQUIRE(!x.has_value());
  BOOST_TEST((x.error().code == ec::bad_format));
  BOOST_TEST(mentions(x.error(), "up to 110"));
  BOOST_TEST(mentions(x.error(), "ends at 104"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_opened_says_why) {
  scratch_folder folder;
  auto missing = model_file::open(folder.path("none"));
  BOOST_REQUIRE(!missing.has_value());
  BOOST_TEST((missing.error().code == ec::not_found));
  BOOST_TEST(mentions(missing.error(), "no such file"));
  auto is_folder = model_file::open(folder.path());
  BOOST_REQUIRE(!is_folder.has_value());
  BOOST_TEST(mentions(is_folder.error(), "found a folder"));
  auto through_file = model_file::open(folder.write("f", "x") + "/g");
  BOOST_REQUIRE(!through_file.has_value());
  BOOST_TEST((through_file.error().code == ec::io));
  if (::geteuid() == 0)
    return; // root reads everything
  auto path = folder.write("secret", "{}");
  fs::permissions(path, fs::perms::none);
  auto secret = model_file::open(path);
  BOOST_REQUIRE(!secret.has_value());
  BOOST_TEST(mentions(secret.error(), "may this user read it"));
}

BOOST_AUTO_TEST_CASE(a_dangling_link_names_its_target) {
  scratch_folder folder;
  fs::create_directory(folder.path("blobs"));
  fs::create_symlink("blobs/abc123", folder.path("config.json"));
  auto x = model_file::open(folder.path("config.json"));
  BOOST_REQUIRE(!x.has_value());
  // Not "not_found": an optional file that was meant to be there is a fault.
  BOOST_TEST((x.error().code == ec::io));
  BOOST_TEST(mentions(x.error(), "symbolic link to blobs/abc123"));
  BOOST_TEST(!mentions(x.error(), "incomplete"));
  folder.write("blobs/abc123.incomplete", "half");
  auto y = model_file::open(folder.path("config.json"));
  BOOST_REQUIRE(!y.has_value());
  BOOST_TEST(mentions(y.error(), "abc123.incomplete is there"));
}

BOOST_AUTO_TEST_CASE(a_download_that_has_not_ended_is_found) {
  scratch_folder folder;
  auto path = folder.path("model.safetensors");
  BOOST_TEST(unfinished_download(path).empty());
  folder.write("other.safetensors.incomplete", "");
  BOOST_TEST(unfinished_download(path).empty());
  folder.write("model.safetensors.x1.incomplete", "");
  BOOST_TEST(unfinished_download(path).find("x1.incomplete") !=
             std::string::npos);
  fs::remove(folder.path("model.safetensors.x1.incomplete"));
  fs::create_directories(folder.path(".cache/huggingface/download"));
  folder.write(".cache/huggingface/download/h4sh.incomplete", "");
  BOOST_TEST(unfinished_download(path).find("h4sh.incomplete") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(json_files_that_are_none_say_what_they_are) {
  const std::pair<std::string, const char*> rows[]{
    {"", "the file is empty"},
    {"  \n", "blank"},
    {"{\"a\": 1, \"b", "11 bytes do not end with '}'"},
    {std::string("{\"a\": 1}\0\0\0", 11), "end with zeros"},
    {"<html>log in</html>", "web page"},
    {"version https://git-lfs.github.com/spec/v1\nsize 7\n", "pointer to 7"},
    {"hello", "not valid JSON"},
    {std::string(101, ' '), "at most 100 bytes, found 101"},
    {"<html>" + std::string(101, ' '), "found 107; it is a web page"}};
  scratch_folder folder;
  for (auto& [bytes, cause] : rows) {
    auto path = folder.write("x.json", bytes);
    auto x = read_json_file(path, 100);
    BOOST_TEST_CONTEXT(cause) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::bad_format));
      BOOST_TEST(mentions(x.error(), path));
      BOOST_TEST(mentions(x.error(), cause), x.error().message);
    }
  }
  auto good = read_json_file(folder.write("x.json", "{\"a\": 1}\n"), 100);
  BOOST_REQUIRE(good.has_value());
  BOOST_TEST((*good)["a"] == 1);
}

BOOST_AUTO_TEST_SUITE_END()
