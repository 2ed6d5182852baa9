// Files of a cache: opened with suspicion, locked without waiting.
#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace troupe {

/// Owns a file descriptor.
class file_handle {
public:
  explicit file_handle(int fd = -1) noexcept : fd_(fd) {
    // nop
  }
  file_handle(file_handle&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {
    // nop
  }
  file_handle& operator=(file_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file_handle();

  int get() const noexcept {
    return fd_;
  }
  explicit operator bool() const noexcept {
    return fd_ >= 0;
  }

private:
  int fd_;
};

/// Text of the last error of the system.
std::string system_reason();

/// Opens a file that belongs to this user alone, for reading and writing.
/// Errors: not_found, io, unsupported (a link, another's, open to others, no
/// regular file).
result<file_handle> open_private(const std::string& path);

/// Creates a file for this user alone. `pattern` has XXXXXX before its last
/// four characters, and becomes the name. Errors: io.
result<file_handle> create_private(std::string& pattern);

enum class lock_kind { shared, exclusive, none };

/// Sets or removes a lock of this open file on `bytes` bytes from `begin` on.
/// Returns whether it is set; false when somebody else's is in the way.
bool try_lock(int fd, lock_kind kind, uint64_t begin, uint64_t bytes);

/// All of `bytes`, at `offset`. Errors: out_of_memory (no space), io.
result<void> write_exactly(int fd, const std::string& path,
                           std::span<const std::byte> bytes, uint64_t offset);

/// Fills `out` from `offset` on. Errors: io; bad_format when the file ends
/// before.
result<void> read_exactly(int fd, const std::string& path,
                          std::span<std::byte> out, uint64_t offset);

} // namespace troupe
