#include "config/text_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace troupe {

namespace {

struct descriptor {
  int value;

  ~descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

std::string reason() {
  return std::system_category().message(errno);
}

} // namespace

result<std::string> read_text_file(const std::string& path, size_t bytes_max) {
  // Without O_NONBLOCK the open of a named pipe would hang.
  descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0)
    return fail(errno == ENOENT ? ec::not_found : ec::io, "{}: {}", path,
                reason());
  struct stat facts {};
  if (::fstat(file.value, &facts) != 0)
    return fail(ec::io, "{}: {}", path, reason());
  if (!S_ISREG(facts.st_mode))
    return fail(ec::bad_format, "{}: expected a file, found {}", path,
                S_ISDIR(facts.st_mode) ? "a folder" : "a pipe or device");
  // The size is only a hint: the file may grow while it is read.
  std::string text;
  char block[65536];
  for (;;) {
    auto got = ::read(file.value, block, sizeof(block));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(ec::io, "{}: {}", path, reason());
    if (got == 0)
      return text;
    text.append(block, static_cast<size_t>(got));
    if (text.size() > bytes_max)
      return fail(ec::bad_format,
                  "{}: expected at most {} bytes, found {} or more", path,
                  bytes_max, text.size());
  }
}

} // namespace troupe
