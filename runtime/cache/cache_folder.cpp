#include "runtime/cache/cache_folder.hpp"

#include "runtime/cache/file_handle.hpp"
#include "runtime/cache/slot_format.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t blocks_of_stat = 512;
constexpr mode_t folder_mode = S_IRWXU;

std::optional<std::string> absolute(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || value[0] != '/')
    return std::nullopt;
  return value;
}

/// Absent: not to be read, which is no reason to fail.
std::optional<cached_file> look_at(const std::string& path) {
  auto file = open_private(path);
  struct stat facts {};
  if (!file || fstat(file->get(), &facts) != 0)
    return std::nullopt;
  cached_file out;
  out.path = path;
  out.disk_bytes = static_cast<uint64_t>(facts.st_blocks) * blocks_of_stat;
  out.used = std::chrono::system_clock::time_point{
    std::chrono::seconds{facts.st_mtim.tv_sec} +
    std::chrono::microseconds{facts.st_mtim.tv_nsec / 1000}};
  slot_header header{};
  if (read_exactly(file->get(), path, header, 0))
    out.note = note_of(header).value_or("");
  out.in_use = !try_lock(file->get(), lock_kind::exclusive, 0, 1);
  return out;
}

/// Files that somebody began to make an hour ago and died over.
void remove_unfinished(const std::string& folder) {
  constexpr auto patience = std::chrono::hours{1};
  std::error_code failed;
  for (fs::directory_iterator files{folder, failed}, end;
       !failed && files != end; files.increment(failed)) {
    std::error_code ignored;
    if (files->path().extension() == unfinished_suffix &&
        files->last_write_time(ignored) + patience <
          fs::file_time_type::clock::now())
      fs::remove(files->path(), ignored);
  }
}

} // namespace

std::optional<std::string> default_cache_folder() {
  if (auto root = absolute("XDG_CACHE_HOME"))
    return *root + "/troupe";
  if (auto home = absolute("HOME"))
    return *home + "/.cache/troupe";
  return std::nullopt;
}

result<void> prepare_cache_folder(const std::string& folder) {
  std::error_code failed;
  const auto parent = fs::path{folder}.parent_path();
  if (!parent.empty())
    fs::create_directories(parent, failed);
  if (mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST)
    return fail(ec::io, "{}: cannot create: {}", folder, system_reason());
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0)
    return fail(ec::io, "{}: {}", folder, system_reason());
  if (!S_ISDIR(facts.st_mode))
    return fail(ec::unsupported, "{}: expected a folder", folder);
  if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ec::unsupported,
                "{}: others may write to it (owner {}, mode {:o}); expected "
                "owner {}, mode 700",
                folder, facts.st_uid, facts.st_mode & 0777U, geteuid());
  return {};
}

result<std::vector<cached_file>> list_cache(const std::string& folder) {
  std::vector<cached_file> out;
  std::error_code failed;
  fs::directory_iterator files{folder, failed};
  if (failed == std::errc::no_such_file_or_directory)
    return out;
  if (failed)
    return fail(ec::io, "{}: {}", folder, failed.message());
  for (; files != fs::directory_iterator{}; files.increment(failed)) {
    if (files->path().extension() == slot_file_suffix)
      if (auto x = look_at(files->path()))
        out.push_back(std::move(*x));
    if (failed)
      return fail(ec::io, "{}: {}", folder, failed.message());
  }
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return out;
}

bool remove_unused(const std::string& path) {
  auto file = open_private(path);
  return file && try_lock(file->get(), lock_kind::exclusive, 0, 1) &&
         unlink(path.c_str()) == 0;
}

std::vector<std::string> make_room(const std::string& folder,
                                   const room_request& wanted) {
  remove_unfinished(folder);
  std::vector<std::string> removed;
  const auto found = list_cache(folder);
  if (!found)
    return removed;
  uint64_t total = wanted.bytes;
  std::vector<cached_file> others;
  for (const auto& x : *found) {
    if (x.path == wanted.path)
      continue;
    if (x.note == wanted.note && remove_unused(x.path)) {
      removed.push_back(x.path);
      continue;
    }
    total += x.disk_bytes;
    others.push_back(x);
  }
  for (const auto& x : others) {
    if (total <= wanted.bytes_max)
      break;
    if (!remove_unused(x.path))
      continue;
    removed.push_back(x.path);
    total -= x.disk_bytes;
  }
  return removed;
}

} // namespace troupe
