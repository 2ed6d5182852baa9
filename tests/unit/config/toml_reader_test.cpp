// The strict reader alone: types, ranges, faults and their lines.
#include "config/toml_reader.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;

namespace {

bool mentions(const error& x, std::string_view part) {
  return x.message.find(part) != std::string::npos;
}

enum class colour { red, green };

constexpr enum_name<colour> colour_names[]{{"red", colour::red},
                                           {"green", colour::green}};

struct sample {
  bool flag = false;
  uint32_t count = 7;
  uint64_t large = 8;
  double share = 0.5;
  std::string name = "default";
  colour paint = colour::red;
  std::vector<std::string> list;
  std::chrono::microseconds pause{9};
  byte_size memory{10};
};

result<sample> read_sample(std::string_view text) {
  auto file = toml_file::parse(text, "sample.toml");
  if (!file)
    return tl::unexpected(file.error());
  sample x;
  auto table = file->root().section("sample");
  table.read("flag", x.flag);
  table.read("count", x.count, within(1u, 100u));
  table.read("large", x.large, within(uint64_t{0}, uint64_t{1} << 40));
  table.read("share", x.share, within(0.0, 1.0));
  table.read("name", x.name);
  table.read("paint", x.paint, colour_names);
  table.read_strings("list", x.list);
  table.read(
    "pause", x.pause,
    within(std::chrono::microseconds{1}, std::chrono::microseconds{1'000'000}));
  table.read("memory", x.memory, within(byte_size{0}, byte_size{1u << 20}));
  if (auto done = file->finish(); !done)
    return tl::unexpected(done.error());
  return x;
}

} // namespace

BOOST_AUTO_TEST_SUITE(toml_reader_suite)

BOOST_AUTO_TEST_CASE(missing_keys_keep_their_defaults) {
  auto x = read_sample("");
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->count == 7u);
  BOOST_TEST(x->name == "default");
  BOOST_TEST(x->memory.bytes == 10u);
}

BOOST_AUTO_TEST_CASE(every_type_is_read) {
  auto x = read_sample(R"(
    [sample]
    flag = true
    count = 100
    large = 1099511627776
    share = 1
    name = "x"
    paint = "green"
    list = ["a", "b"]
    pause = "2ms"
    memory = "64KiB")");
  BOOST_REQUIRE(x.has_value());
  BOOST_TEST(x->flag);
  BOOST_TEST(x->count == 100u);
  BOOST_TEST(x->large == uint64_t{1} << 40);
  BOOST_TEST(x->share == 1.0);
  BOOST_TEST((x->paint == colour::green));
  BOOST_TEST(x->list.size() == 2u);
  BOOST_TEST(x->pause.count() == 2000);
  BOOST_TEST(x->memory.bytes == 65536u);
}

BOOST_AUTO_TEST_CASE(each_fault_names_line_key_expected_and_found) {
  struct row {
    const char* text;
    const char* parts[3];
  };
  const row rows[]{
    {"[sample]\nflag = 1",
     {"sample.toml:2: sample.flag", "true or false", "found 1"}},
    {"[sample]\ncount = 0", {":2: sample.count", "from 1 to 100", "found 0"}},
    {"[sample]\ncount = 101",
     {":2: sample.count", "from 1 to 100", "found 101"}},
    {"[sample]\ncount = -1", {"sample.count", "whole number", "found -1"}},
    {"[sample]\ncount = 1.0", {"sample.count", "whole number", "found 1"}},
    {"[sample]\ncount = 4294967297", {"sample.count", "to 100", "4294967297"}},
    {"[sample]\ncount = \"5\"",
     {"sample.count", "whole number", "found \"5\""}},
    {"[sample]\nshare = nan", {"sample.share", "from 0 to 1", "found nan"}},
    {"[sample]\nshare = inf", {"sample.share", "from 0 to 1", "found inf"}},
    {"[sample]\nshare = true", {"sample.share", "a number", "found true"}},
    {"[sample]\nname = 3", {"sample.name", "a string", "found 3"}},
    {"[sample]\npaint = \"blue\"",
     {"sample.paint", "\"red\", \"green\"", "\"blue\""}},
    {"[sample]\nlist = [1]", {"sample.list", "list of strings", "a list"}},
    {"[sample]\npause = 5", {"sample.pause", "a duration", "found 5"}},
    {"[sample]\npause = \"5 s\"", {"sample.pause", "20ms", "\"5 s\""}},
    {"[sample]\nmemory = \"2MiB\"", {"sample.memory", "to 1MiB", "2MiB"}},
    {"[sample]\nname = 1979-05-27", {"sample.name", "a string", "a date"}},
    {"\nsample = 4", {"sample.toml:2: sample", "a table", "found 4"}},
    {"[sample]\n\ncuont = 4",
     {"sample.toml:3: sample.cuont", "unknown key", "count"}},
    {"[simple]\nx = 1", {"sample.toml:1: simple", "unknown key", "sample"}},
  };
  for (auto& row : rows) {
    auto x = read_sample(row.text);
    BOOST_TEST_CONTEXT(row.text) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::invalid_argument));
      for (auto part : row.parts)
        BOOST_TEST(mentions(x.error(), part),
                   part << " is not in " << x.error().message);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_faults_are_told_at_once_in_order) {
  auto x = read_sample("[sample]\nzzz = 1\nshare = 2\ncount = 0\n");
  BOOST_REQUIRE(!x.has_value());
  auto& text = x.error().message;
  auto zzz = text.find("zzz");
  auto share = text.find("share");
  BOOST_TEST(zzz != std::string::npos);
  BOOST_TEST(zzz < share);
  BOOST_TEST(share < text.find("sample.count"));
}

BOOST_AUTO_TEST_CASE(text_that_is_no_toml_is_refused_with_its_place) {
  for (auto text : {"[sample", "a = ", "a = 1\na = 2", "[t]\n[t]", "= 1",
                    "a = \"\xff\"", "a = 99999999999999999999"}) {
    auto x = read_sample(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(!x.has_value());
      BOOST_TEST((x.error().code == ec::bad_format));
      BOOST_TEST(mentions(x.error(), "sample.toml:"));
    }
  }
  std::string deep = "a = ";
  deep.append(100'000, '[');
  BOOST_TEST(!read_sample(deep).has_value());
  BOOST_TEST(!read_sample(std::string(toml_bytes_max + 1, '#')).has_value());
}

BOOST_AUTO_TEST_CASE(required_keys_are_demanded) {
  auto file = toml_file::parse("[[item]]\n[[item]]\nname = \"x\"\n", "s.toml");
  BOOST_REQUIRE(file.has_value());
  auto items = file->root().sections("item");
  BOOST_TEST(items.size() == 2u);
  for (auto& item : items) {
    std::string name;
    item.read("name", name, presence::required);
  }
  auto done = file->finish();
  BOOST_REQUIRE(!done.has_value());
  BOOST_TEST(mentions(done.error(), "s.toml:1: item[0].name: missing"));
  BOOST_TEST(!mentions(done.error(), "item[1]"));
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_errors) {
  auto missing = toml_file::read("tests/no_such_file.toml");
  BOOST_REQUIRE(!missing.has_value());
  BOOST_TEST((missing.error().code == ec::not_found));
  BOOST_TEST(mentions(missing.error(), "tests/no_such_file.toml"));
  auto folder = toml_file::read("tests");
  BOOST_REQUIRE(!folder.has_value());
  BOOST_TEST((folder.error().code == ec::bad_format));
  BOOST_TEST(mentions(folder.error(), "a folder"));
}

BOOST_AUTO_TEST_CASE(damaged_text_never_crashes) {
  const std::string good = "[sample]\nflag = true\ncount = 3\nlist = [\"a\"]\n"
                           "name = \"x\"\npause = \"2ms\"\nmemory = \"1KiB\"\n";
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    auto text = good.substr(0, random() % (good.size() + 1));
    for (int flips = 0; flips < 3 && !text.empty(); ++flips)
      text[random() % text.size()] ^= static_cast<char>(1u << (random() % 8));
    auto x = read_sample(text);
    if (!x) {
      ++refused;
      BOOST_TEST(mentions(x.error(), "sample.toml"), "seed " << seed);
    }
  }
  BOOST_TEST(refused > 100u);
}

BOOST_AUTO_TEST_SUITE_END()
