#include "runtime/model/safetensors.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/safetensors_header.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little endian and is used as it is");

constexpr uint64_t prefix_bytes = 8;

std::string reason() {
  return std::system_category().message(errno);
}

/// Guesses what a file that is no safetensors file may be, from its first
/// bytes; empty if there is no idea. Only for messages.
std::string_view hint(std::string_view head) {
  struct signature {
    std::string_view bytes;
    std::string_view meaning;
  };
  static constexpr std::array<signature, 9> signatures{
    {{"version https://git-lfs", "it is a Git LFS pointer: run git lfs pull"},
     {"<!DOCTYPE", "it is a web page: the download went wrong"},
     {"<!doctype", "it is a web page: the download went wrong"},
     {"<html", "it is a web page: the download went wrong"},
     {"PK\x03\x04", "it is a zip archive, such as a PyTorch .bin or .pt file: "
                    "convert it to safetensors"},
     {"\x80\x02", "it is a Python pickle: convert it to safetensors"},
     {"\x80\x04", "it is a Python pickle: convert it to safetensors"},
     {"GGUF", "it is a GGUF file"},
     {"{", "it is JSON text"}}};
  for (auto& x : signatures)
    if (head.substr(0, x.bytes.size()) == x.bytes)
      return x.meaning;
  return {};
}

template <class... Ts>
tl::unexpected<error>
not_safetensors(const std::string& path, std::string_view head,
                fmt::format_string<Ts...> text, Ts&&... xs) {
  auto message = fmt::format(text, std::forward<Ts>(xs)...);
  auto guess = hint(head);
  if (guess.empty())
    return fail(ec::bad_format, "{}: {}", path, message);
  return fail(ec::bad_format, "{}: {} (no safetensors file: {})", path, message,
              guess);
}

/// Reads exactly `out.size()` bytes at `offset`. pread may be interrupted, and
/// returns at most 2 GiB at a time.
result<void> read_exactly(int fd, const std::string& path, uint64_t offset,
                          std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    auto got = ::pread(fd, out.data() + done, out.size() - done,
                       static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(ec::io, "{}: cannot read {} bytes at {}: {}", path,
                  out.size(), offset, reason());
    if (got == 0)
      return fail(ec::bad_format,
                  "{}: cut short while in use: expected bytes up to {}, the "
                  "file ends at {}. Was it replaced?",
                  path, offset + out.size(), offset + done);
    done += static_cast<size_t>(got);
  }
  return {};
}

/// Opens a regular file and finds its size.
result<std::pair<int, uint64_t>> open_regular(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return fail(errno == ENOENT ? ec::not_found : ec::io, "{}: cannot open: {}",
                path, reason());
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    auto failed = fail(ec::io, "{}: {}", path, reason());
    ::close(fd);
    return failed;
  }
  if (!S_ISREG(facts.st_mode)) {
    ::close(fd);
    return fail(ec::bad_format, "{}: expected a safetensors file, found {}",
                path, S_ISDIR(facts.st_mode) ? "a folder" : "a pipe or device");
  }
  return std::pair{fd, static_cast<uint64_t>(facts.st_size)};
}

/// Reads and bounds the 8-byte length, then the header's text.
result<std::string> read_header_text(int fd, const std::string& path,
                                     uint64_t file_bytes) {
  if (file_bytes == 0)
    return fail(ec::bad_format, "{}: the file is empty. Interrupted download?",
                path);
  std::array<char, 64> head{};
  auto head_bytes = std::min<uint64_t>(head.size(), file_bytes);
  auto head_span = std::as_writable_bytes(std::span{head});
  if (auto done = read_exactly(fd, path, 0, head_span.first(head_bytes)); !done)
    return tl::unexpected(done.error());
  std::string_view start{head.data(), head_bytes};
  if (file_bytes < prefix_bytes)
    return not_safetensors(path, start, "expected at least {} bytes, found {}",
                           prefix_bytes, file_bytes);
  uint64_t length = 0;
  std::memcpy(&length, head.data(), prefix_bytes);
  if (length > safetensors_header_max)
    return not_safetensors(path, start,
                           "expected a header of at most {} bytes, found {}",
                           safetensors_header_max, length);
  if (length > file_bytes - prefix_bytes)
    return not_safetensors(path, start,
                           "truncated: the header has {} bytes, the file {}",
                           length, file_bytes);
  if (length == 0)
    return not_safetensors(path, start, "expected a header, found none");
  std::string text(length, '\0');
  auto span = std::as_writable_bytes(std::span{text});
  if (auto done = read_exactly(fd, path, prefix_bytes, span); !done)
    return tl::unexpected(done.error());
  if (text.front() != '{')
    return not_safetensors(path, start,
                           "expected a header that begins with '{{'");
  return text;
}

result<void> check_size(const std::string& path, const safetensors_header& x,
                        uint64_t data_begin, uint64_t file_bytes) {
  auto expected = data_begin + x.data_bytes;
  if (file_bytes < expected)
    return fail(ec::bad_format,
                "{}: truncated: tensor {} ends at byte {}, but the file has "
                "{}. Incomplete download?",
                path, x.last_tensor, expected, file_bytes);
  if (file_bytes > expected)
    return fail(ec::bad_format,
                "{}: {} bytes too many: the tensors end at byte {}, the file "
                "at {}",
                path, file_bytes - expected, expected, file_bytes);
  return {};
}

} // namespace

result<safetensors_file> safetensors_file::open(const std::string& path) {
  auto opened = open_regular(path);
  if (!opened)
    return tl::unexpected(std::move(opened).error());
  safetensors_file x;
  x.path_ = path;
  std::tie(x.fd_, x.file_bytes_) = *opened;
  auto text = read_header_text(x.fd_, path, x.file_bytes_);
  if (!text)
    return tl::unexpected(std::move(text).error());
  auto data_begin = prefix_bytes + text->size();
  auto header = parse_safetensors_header(*text, data_begin, path);
  if (!header)
    return tl::unexpected(std::move(header).error());
  if (auto done = check_size(path, *header, data_begin, x.file_bytes_); !done)
    return tl::unexpected(done.error());
  x.tensors_ = std::move(header->tensors);
  x.metadata_ = std::move(header->metadata);
  return x;
}

safetensors_file::safetensors_file(safetensors_file&& other) noexcept {
  *this = std::move(other);
}

safetensors_file&
safetensors_file::operator=(safetensors_file&& other) noexcept {
  if (this == &other)
    return *this;
  if (fd_ >= 0)
    ::close(fd_);
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  file_bytes_ = other.file_bytes_;
  tensors_ = std::move(other.tensors_);
  metadata_ = std::move(other.metadata_);
  bytes_read_ = other.bytes_read_.load(std::memory_order_relaxed);
  return *this;
}

safetensors_file::~safetensors_file() {
  if (fd_ >= 0)
    ::close(fd_);
}

const tensor_info* safetensors_file::find(std::string_view name) const {
  auto i = tensors_.find(name);
  return i == tensors_.end() ? nullptr : &i->second;
}

std::string safetensors_file::stamp() const {
  struct stat facts {};
  if (::fstat(fd_, &facts) != 0)
    return fmt::format("{}: {}", path_, reason());
  return fmt::format("{} {} bytes, inode {}, changed {}.{:09}",
                     path_.substr(path_.rfind('/') + 1), facts.st_size,
                     facts.st_ino, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

result<void> safetensors_file::read(const tensor_info& x, uint64_t begin,
                                    std::span<std::byte> out) const {
  TROUPE_ASSERT(begin <= x.bytes && out.size() <= x.bytes - begin);
  if (auto done = read_exactly(fd_, path_, x.offset + begin, out); !done)
    return wrap(x.name, std::move(done).error());
  bytes_read_.fetch_add(out.size(), std::memory_order_relaxed);
  return {};
}

} // namespace troupe
