#include "runtime/cache/cache_folder.hpp"

#include "runtime/cache/slot_file.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace troupe;

namespace {

constexpr uint64_t slot_bytes = uint64_t{1} << 20;

struct fixture {
  std::string path(char name) const {
    return folder.path(std::string(1, name) + ".packed");
  }

  /// A file of 1 MiB, last used `age` hours ago.
  std::shared_ptr<slot_file> make(char name, int age) const {
    auto file = slot_file::open(path(name),
                                {std::string(slot_identity_bytes, name),
                                 std::string("model of ") + name,
                                 {slot_bytes}},
                                {})
                  .value();
    const auto mine = file->try_claim(0, std::chrono::milliseconds{0});
    const auto done =
      file->store(*mine, std::vector<std::byte>(slot_bytes, std::byte{1}));
    BOOST_TEST_REQUIRE(done.has_value());
    namespace fs = std::filesystem;
    fs::last_write_time(path(name), fs::file_time_type::clock::now() -
                                      std::chrono::hours{age});
    return file;
  }

  bool exists(char name) const {
    return std::filesystem::exists(path(name));
  }

  test::scratch_folder folder;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cache_folder_suite, fixture)

BOOST_AUTO_TEST_CASE(files_are_listed_with_what_they_hold) {
  make('n', 1);
  const auto open = make('o', 5);
  std::ofstream{folder.path("stray.txt")} << "no cache";
  const auto found = list_cache(folder.path()).value();
  BOOST_TEST_REQUIRE(found.size() == 2u);
  BOOST_TEST(found[0].path == path('o')); // the oldest first
  BOOST_TEST(found[0].in_use);
  BOOST_TEST(!found[1].in_use);
  BOOST_TEST(found[1].note == "model of n");
  BOOST_TEST(found[1].disk_bytes >= slot_bytes);
  BOOST_TEST(found[1].disk_bytes < 2 * slot_bytes);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_is_empty) {
  BOOST_TEST(list_cache(folder.path("none")).value().empty());
}

BOOST_AUTO_TEST_CASE(a_file_in_use_is_not_removed) {
  auto open = make('a', 1);
  BOOST_TEST(!remove_unused(path('a')));
  open.reset();
  BOOST_TEST(remove_unused(path('a')));
  BOOST_TEST(!exists('a'));
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_files_make_room) {
  make('a', 30);
  make('b', 20);
  make('c', 10);
  const auto removed = make_room(
    folder.path(), {path('x'), "model of x", slot_bytes, 3 * slot_bytes});
  BOOST_TEST(removed.size() == 2u); // their tables count too
  BOOST_TEST(!exists('a'));
  BOOST_TEST(!exists('b'));
  BOOST_TEST(exists('c'));
}

BOOST_AUTO_TEST_CASE(files_in_use_stay_however_old) {
  const auto open = make('a', 30);
  make('b', 20);
  make_room(folder.path(), {path('x'), "model of x", slot_bytes, slot_bytes});
  BOOST_TEST(exists('a'));
  BOOST_TEST(!exists('b'));
}

BOOST_AUTO_TEST_CASE(a_file_does_not_make_room_for_itself) {
  make('a', 30);
  make_room(folder.path(), {path('a'), "model of a", slot_bytes, 0});
  BOOST_TEST(exists('a'));
}

BOOST_AUTO_TEST_CASE(the_file_of_an_older_state_of_the_model_is_superseded) {
  make('a', 1);
  make('b', 1);
  make_room(folder.path(), {path('x'), "model of a", 0, UINT64_MAX});
  BOOST_TEST(!exists('a'));
  BOOST_TEST(exists('b'));
}

BOOST_AUTO_TEST_CASE(what_a_dead_process_began_is_cleared_away) {
  namespace fs = std::filesystem;
  const auto old = folder.write("a.packed.abcdef.new", "x");
  const auto fresh = folder.write("b.packed.abcdef.new", "x");
  fs::last_write_time(old,
                      fs::file_time_type::clock::now() - std::chrono::hours{2});
  make_room(folder.path(), {path('x'), "model of x", 0, UINT64_MAX});
  BOOST_TEST(!fs::exists(old));
  BOOST_TEST(fs::exists(fresh));
}

BOOST_AUTO_TEST_CASE(a_folder_is_made_for_this_user_alone) {
  const auto deep = folder.path("some/where/troupe");
  BOOST_TEST(prepare_cache_folder(deep).has_value());
  struct stat facts {};
  BOOST_TEST_REQUIRE(stat(deep.c_str(), &facts) == 0);
  BOOST_TEST((facts.st_mode & 0777U) == 0700U);
  BOOST_TEST(prepare_cache_folder(deep).has_value()); // it may be there
  BOOST_TEST_REQUIRE(chmod(deep.c_str(), 0777) == 0);
  const auto open_to_all = prepare_cache_folder(deep);
  BOOST_TEST_REQUIRE(!open_to_all.has_value());
  BOOST_TEST((open_to_all.error().code == ec::unsupported));
  std::ofstream{folder.path("file")} << "x";
  BOOST_TEST(!prepare_cache_folder(folder.path("file")).has_value());
  BOOST_TEST(!prepare_cache_folder("/proc/nowhere/x").has_value());
}

BOOST_AUTO_TEST_CASE(the_folder_follows_the_environment) {
  // This program has one thread here.
  const auto restore = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string old_xdg = xdg == nullptr ? "" : xdg;
  const std::string old_home = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  BOOST_TEST(default_cache_folder().value() == "/somewhere/troupe");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/users/me", 1);
  BOOST_TEST(default_cache_folder().value() == "/users/me/.cache/troupe");
  unsetenv("HOME");
  BOOST_TEST(!default_cache_folder().has_value());
  restore("XDG_CACHE_HOME", xdg == nullptr ? nullptr : old_xdg.c_str());
  restore("HOME", home == nullptr ? nullptr : old_home.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
