#include "runtime/cache/file_handle.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace troupe {

namespace {

/// Of a path that could not be opened.
ec code_of_open(int reason) {
  switch (reason) {
  case ENOENT:
    return ec::not_found;
  case ELOOP: // a link, which is not followed
    return ec::unsupported;
  default:
    return ec::io;
  }
}

result<void> check_private(int fd, const std::string& path) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0)
    return fail(ec::io, "{}: {}", path, system_reason());
  if (!S_ISREG(facts.st_mode))
    return fail(ec::unsupported, "{}: expected a file; remove it", path);
  if (facts.st_uid != geteuid())
    return fail(ec::unsupported,
                "{}: belongs to user {}, expected {}; use another folder", path,
                facts.st_uid, geteuid());
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(ec::unsupported,
                "{}: others may use it (mode {:o}), expected 600; remove it",
                path, facts.st_mode & 0777U);
  return {};
}

} // namespace

file_handle::~file_handle() {
  if (fd_ >= 0)
    close(fd_);
}

std::string system_reason() {
  return std::system_category().message(errno);
}

result<file_handle> open_private(const std::string& path) {
  file_handle file{
    open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (!file)
    return fail(code_of_open(errno), "{}: cannot open: {}", path,
                system_reason());
  if (auto ok = check_private(file.get(), path); !ok)
    return tl::unexpected(std::move(ok.error()));
  return file;
}

result<file_handle> create_private(std::string& pattern) {
  constexpr int suffix_bytes = 4;
  file_handle file{mkostemps(pattern.data(), suffix_bytes, O_CLOEXEC)};
  if (!file)
    return fail(ec::io, "{}: cannot create: {}", pattern, system_reason());
  return file;
}

bool try_lock(int fd, lock_kind kind, uint64_t begin, uint64_t bytes) {
  struct flock range {};
  range.l_type = kind == lock_kind::none     ? F_UNLCK
                 : kind == lock_kind::shared ? F_RDLCK
                                             : F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(begin);
  range.l_len = static_cast<off_t>(bytes);
  return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

result<void> write_exactly(int fd, const std::string& path,
                           std::span<const std::byte> bytes, uint64_t offset) {
  size_t done = 0;
  while (done < bytes.size()) {
    const auto put = pwrite(fd, bytes.data() + done, bytes.size() - done,
                            static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
      return fail(full ? ec::out_of_memory : ec::io,
                  "{}: cannot write {} bytes at {}: {}", path, bytes.size(),
                  offset, system_reason());
    }
    done += static_cast<size_t>(put);
  }
  return {};
}

result<void> read_exactly(int fd, const std::string& path,
                          std::span<std::byte> out, uint64_t offset) {
  size_t done = 0;
  while (done < out.size()) {
    const auto got = pread(fd, out.data() + done, out.size() - done,
                           static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(ec::io, "{}: cannot read {} bytes at {}: {}", path,
                  out.size(), offset, system_reason());
    if (got == 0)
      return fail(ec::bad_format, "{}: ends at byte {}, expected {}", path,
                  offset + done, offset + out.size());
    done += static_cast<size_t>(got);
  }
  return {};
}

} // namespace troupe
