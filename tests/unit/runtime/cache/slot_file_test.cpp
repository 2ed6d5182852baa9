// Two opened files stand for two processes: their locks exclude each other as
// those of processes do.
#include "runtime/cache/slot_file.hpp"

#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace troupe;
using std::chrono::milliseconds;

namespace {

using slots = std::shared_ptr<slot_file>;

constexpr size_t small_bytes = 5000;
constexpr size_t large_bytes = size_t{3} << 20;

struct fixture {
  slot_plan plan() const {
    return {std::string(slot_identity_bytes, 'a'),
            "note",
            {small_bytes, large_bytes, small_bytes}};
  }
  std::string path() const {
    return folder.path("x.packed");
  }
  slots open(slot_file::options limits = {}) const {
    auto x = slot_file::open(path(), plan(), limits);
    BOOST_TEST_REQUIRE(x.has_value(), (x ? "" : x.error().message));
    return *x;
  }
  ec failure_to_open() const {
    auto x = slot_file::open(path(), plan(), {});
    BOOST_TEST_REQUIRE(!x.has_value());
    return x.error().code;
  }
  /// Changes one byte of the file's data behind everybody's back.
  void damage(uint64_t offset) const {
    std::fstream file{path(), std::ios::in | std::ios::out | std::ios::binary};
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
    BOOST_TEST_REQUIRE(file.good());
  }
  uint64_t slot_begin(size_t slot) const {
    return slot_layout::of(plan().capacities)->slot_begin(slot);
  }

  test::scratch_folder folder;
};

std::vector<std::byte> some_bytes(size_t count, unsigned salt) {
  std::vector<std::byte> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(i * 7 + i / 256 + salt);
  return out;
}

void fill(const slots& file, size_t slot, const std::vector<std::byte>& bytes) {
  auto mine = file->try_claim(slot, milliseconds{0});
  BOOST_TEST_REQUIRE(mine.has_value());
  const auto done = file->store(*mine, bytes);
  BOOST_TEST_REQUIRE(done.has_value(), (done ? "" : done.error().message));
}

bool holds(const slots& file, size_t slot,
           const std::vector<std::byte>& bytes) {
  const auto found = file->find(slot);
  BOOST_TEST_REQUIRE(found.has_value());
  return found->has_value() &&
         std::equal(bytes.begin(), bytes.end(), (*found)->bytes.begin(),
                    (*found)->bytes.end());
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(slot_file_suite, fixture)

BOOST_AUTO_TEST_CASE(a_new_file_is_empty_private_and_sparse) {
  const auto file = open();
  for (size_t i = 0; i < 3; ++i)
    BOOST_TEST(!file->find(i).value().has_value());
  struct stat facts {};
  BOOST_TEST_REQUIRE(stat(path().c_str(), &facts) == 0);
  BOOST_TEST((facts.st_mode & 0777U) == 0600U);
  BOOST_TEST(file->disk_bytes() < 100'000u);
  BOOST_TEST(std::distance(std::filesystem::directory_iterator{folder.path()},
                           {}) == 1); // nothing half-made beside it
}

BOOST_AUTO_TEST_CASE(what_one_process_stores_the_others_find) {
  const auto one = open();
  const auto two = open();
  const auto bytes = some_bytes(large_bytes, 1);
  fill(one, 1, bytes);
  BOOST_TEST(holds(one, 1, bytes));
  BOOST_TEST(holds(two, 1, bytes));
  BOOST_TEST(!two->find(0).value().has_value());
  BOOST_TEST(holds(open(), 1, bytes)); // and those that come later
}

BOOST_AUTO_TEST_CASE(a_slot_may_be_filled_in_part) {
  const auto bytes = some_bytes(100, 1);
  const auto file = open();
  fill(file, 1, bytes);
  BOOST_TEST(holds(file, 1, bytes));
}

BOOST_AUTO_TEST_CASE(bytes_outlive_their_file_and_its_name) {
  const auto bytes = some_bytes(small_bytes, 2);
  auto file = open();
  fill(file, 0, bytes);
  const auto found = file->find(0).value().value();
  file.reset();
  std::filesystem::remove(path());
  BOOST_TEST(std::equal(bytes.begin(), bytes.end(), found.bytes.begin()));
}

BOOST_AUTO_TEST_CASE(a_claimed_slot_is_nobody_else_s) {
  const auto one = open();
  const auto two = open();
  auto mine = one->try_claim(0, milliseconds{0});
  BOOST_TEST_REQUIRE(mine.has_value());
  BOOST_TEST(!one->try_claim(0, milliseconds{0}).has_value());
  BOOST_TEST(!two->try_claim(0, milliseconds{0}).has_value());
  BOOST_TEST(two->try_claim(1, milliseconds{0}).has_value());
  mine.reset();
  BOOST_TEST(two->try_claim(0, milliseconds{0}).has_value());
}

BOOST_AUTO_TEST_CASE(a_claim_ends_with_whoever_held_it) {
  const auto survivor = open();
  const auto child = fork();
  if (child == 0) {
    auto file = slot_file::open(path(), plan(), {});
    auto mine = (*file)->try_claim(0, milliseconds{0});
    _exit(mine ? 0 : 1); // no destructor runs
  }
  int status = 0;
  BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(!survivor->find(0).value().has_value());
  BOOST_TEST(survivor->try_claim(0, milliseconds{0}).has_value());
}

BOOST_AUTO_TEST_CASE(a_slot_damaged_on_the_disk_is_empty) {
  const auto bytes = some_bytes(large_bytes, 3);
  fill(open(), 1, bytes);
  damage(slot_begin(1) + 1'234'567);
  const auto file = open();
  BOOST_TEST(!file->find(1).value().has_value());
  fill(file, 1, bytes);
  BOOST_TEST(holds(file, 1, bytes));
}

BOOST_AUTO_TEST_CASE(a_damaged_entry_is_an_empty_slot) {
  const auto bytes = some_bytes(small_bytes, 3);
  fill(open(), 0, bytes);
  damage(slot_layout::page_bytes + 16); // the size
  BOOST_TEST(!open()->find(0).value().has_value());
}

BOOST_AUTO_TEST_CASE(a_damaged_header_means_a_new_file) {
  const auto bytes = some_bytes(small_bytes, 3);
  const auto old = open();
  fill(old, 0, bytes);
  damage(20);
  const auto fresh = open();
  BOOST_TEST(!fresh->find(0).value().has_value());
  BOOST_TEST(holds(old, 0, bytes)); // who has it keeps it
}

BOOST_AUTO_TEST_CASE(a_file_of_another_size_is_replaced) {
  fill(open(), 0, some_bytes(small_bytes, 3));
  std::filesystem::resize_file(path(), 10'000);
  const auto file = open();
  BOOST_TEST(!file->find(0).value().has_value());
  fill(file, 0, some_bytes(small_bytes, 4));
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_while_in_use_is_an_error) {
  const auto file = open();
  fill(file, 1, some_bytes(large_bytes, 5));
  const auto later = open();
  std::filesystem::resize_file(path(), slot_begin(1) + 8192);
  const auto found = later->find(1);
  BOOST_TEST_REQUIRE(!found.has_value());
  BOOST_TEST((found.error().code == ec::io));
}

BOOST_AUTO_TEST_CASE(links_and_files_open_to_others_are_refused) {
  const auto elsewhere = folder.path("elsewhere");
  std::ofstream{elsewhere} << "precious";
  std::filesystem::create_symlink(elsewhere, path());
  BOOST_TEST((failure_to_open() == ec::unsupported));
  std::filesystem::remove(path());
  open();
  BOOST_TEST_REQUIRE(chmod(path().c_str(), 0640) == 0);
  BOOST_TEST((failure_to_open() == ec::unsupported));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  BOOST_TEST((failure_to_open() != ec::none));
}

BOOST_AUTO_TEST_CASE(no_more_space_is_taken_than_allowed) {
  const auto file = open({.bytes_max = 2'000'000});
  auto mine = file->try_claim(1, milliseconds{0});
  const auto done = file->store(*mine, some_bytes(large_bytes, 1));
  BOOST_TEST_REQUIRE(!done.has_value());
  BOOST_TEST((done.error().code == ec::out_of_memory));
  BOOST_TEST(!file->find(1).value().has_value());
  fill(file, 0, some_bytes(small_bytes, 1)); // the small one fits
}

BOOST_AUTO_TEST_CASE(a_file_system_is_not_filled_up) {
  const auto file = open({.free_percent_min = 100});
  auto mine = file->try_claim(0, milliseconds{0});
  const auto done = file->store(*mine, some_bytes(small_bytes, 1));
  BOOST_TEST_REQUIRE(!done.has_value());
  BOOST_TEST((done.error().code == ec::out_of_memory));
}

BOOST_AUTO_TEST_CASE(a_refused_write_leaves_the_slot_empty) {
  const auto file = open();
  const auto child = fork();
  if (child == 0) { // the limit cannot be taken back
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{slot_begin(1) + 100'000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto mine = file->try_claim(1, milliseconds{0});
    const auto done = file->store(*mine, some_bytes(large_bytes, 1));
    _exit(!done && done.error().code == ec::out_of_memory ? 0 : 1);
  }
  int status = 0;
  BOOST_TEST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(!file->find(1).value().has_value());
}

BOOST_AUTO_TEST_CASE(many_threads_and_openers_fill_each_slot_once) {
  std::atomic<int> stores{0};
  std::vector<std::thread> all;
  std::atomic<bool> failed{false};
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      auto file = slot_file::open(path(), plan(), {});
      for (size_t slot = 0; file && slot < 3; ++slot) {
        auto mine = (*file)->try_claim(slot, milliseconds{10'000});
        if (!mine || (*file)->find(slot)->has_value()) {
          failed = failed || !mine;
          continue;
        }
        ++stores;
        if (!(*file)->store(*mine,
                            some_bytes(100, static_cast<unsigned>(slot))))
          failed = true;
      }
      failed = failed || !file;
    });
  for (auto& x : all)
    x.join();
  BOOST_TEST(!failed);
  BOOST_TEST(stores == 3);
  for (size_t slot = 0; slot < 3; ++slot)
    BOOST_TEST(
      holds(open(), slot, some_bytes(100, static_cast<unsigned>(slot))));
}

BOOST_AUTO_TEST_SUITE_END()
