// The folder of slot files: where it is, what is in it, and what leaves it. A
// file that any process has open stays.
#pragma once

#include "runtime/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What the names of slot files end with.
inline constexpr std::string_view slot_file_suffix = ".packed";

/// And those of files that are being made.
inline constexpr std::string_view unfinished_suffix = ".new";

/// $XDG_CACHE_HOME/troupe, else $HOME/.cache/troupe; absent when neither is an
/// absolute path.
std::optional<std::string> default_cache_folder();

/// Creates the folder and those above it, for this user alone. Errors: io;
/// unsupported (no folder, another's, writable for others).
result<void> prepare_cache_folder(const std::string& folder);

struct cached_file {
  std::string path;
  std::string note; ///< Empty: damaged.
  uint64_t disk_bytes = 0;
  std::chrono::system_clock::time_point used; ///< When it was last opened.
  bool in_use = false;
};

/// The slot files of a folder, least recently used first; of a folder that is
/// not there, none. Errors: io.
result<std::vector<cached_file>> list_cache(const std::string& folder);

/// Removes a file that nobody has open. Returns whether it is gone.
bool remove_unused(const std::string& path);

/// What a file that is about to grow wants of the others.
struct room_request {
  std::string path; ///< Itself.
  std::string note; ///< Others with this note are superseded by it.
  uint64_t bytes = 0;
  uint64_t bytes_max = UINT64_MAX; ///< Of the whole folder.
};

/// Removes what others have begun and never finished, superseded files, then
/// the least recently used ones until the rest and the request fit in the
/// bound. Returns the paths removed.
std::vector<std::string> make_room(const std::string& folder,
                                   const room_request& wanted);

} // namespace troupe
