// One file of a model folder, open for reading. Whatever keeps it from being
// read is said with its cause and what to do; reading survives interruptions
// and short counts.
#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <sys/types.h>

namespace troupe {

/// As pread(2), errno included: fills from the offset, returns how much.
using read_at = std::function<ssize_t(std::span<std::byte>, uint64_t)>;

/// Fills `out` from `offset` on. Goes on after a short count and EINTR, and
/// tries again after EIO, which a disk or network file system may get over.
/// Fails with io, or bad_format where the file ends too early; both name `path`
/// and the offset.
result<void> read_fully(const read_at& read, const std::string& path,
                        uint64_t offset, std::span<std::byte> out);

class model_file {
public:
  /// Opens a regular file. Fails with not_found, io (a dangling link too: who
  /// can do without the file must not take it for absent), or bad_format (a
  /// folder, pipe or device).
  static result<model_file> open(const std::string& path);

  model_file(model_file&& other) noexcept;
  model_file& operator=(model_file&& other) noexcept;
  ~model_file();

  const std::string& path() const {
    return path_;
  }

  /// When it was opened.
  uint64_t bytes() const {
    return bytes_;
  }

  /// Name, size, inode and time of the last change, asked of the open file.
  std::string stamp() const;

  /// Any thread. Fails as `read_fully`.
  result<void> read(uint64_t offset, std::span<std::byte> out) const;

private:
  model_file() = default;

  std::string path_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

/// The whole text of a JSON file of a model folder. Fails also with bad_format
/// when it is empty, larger than `bytes_max`, something else, or cut short.
result<std::string> read_json_text(const std::string& path, size_t bytes_max);

/// The same, parsed strictly.
result<nlohmann::json> read_json_file(const std::string& path,
                                      size_t bytes_max);

/// ", but NAME.incomplete lies beside it: ..." when a download of `path` was
/// begun and not ended, as far as the folder shows; else empty.
std::string unfinished_download(const std::string& path);

} // namespace troupe
