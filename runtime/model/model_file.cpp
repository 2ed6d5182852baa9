#include "runtime/model/model_file.hpp"

#include "runtime/model/foreign_content.hpp"
#include "runtime/model/strict_json.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr int io_attempts = 3;
/// Folder entries looked at for a message.
constexpr int entries_max = 10'000;

std::string reason(int number) {
  return std::system_category().message(number);
}

/// The first *.incomplete in `folder` whose name begins with `prefix`.
std::string incomplete_in(const fs::path& folder, std::string_view prefix) {
  std::error_code failed;
  fs::directory_iterator i{folder, failed};
  for (int n = 0; !failed && i != fs::directory_iterator{} && n < entries_max;
       i.increment(failed), ++n) {
    auto name = i->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".incomplete"))
      return i->path().string();
  }
  return {};
}

error not_there(const std::string& path) {
  std::error_code failed;
  auto target = fs::read_symlink(path, failed);
  if (!failed)
    return {ec::io,
            fmt::format("{}: a symbolic link to {}, which does not exist{}. "
                        "Was the cache cleaned, or the folder copied without "
                        "what it links to?",
                        path, target.string(), unfinished_download(path))};
  return {ec::not_found,
          fmt::format("{}: no such file{}", path, unfinished_download(path))};
}

error cannot_open(const std::string& path, int number) {
  if (number == ENOENT)
    return not_there(path);
  if (number == EACCES)
    return {ec::io,
            fmt::format("{}: cannot be opened: {}; who owns it, and may "
                        "this user read it and enter its folder?",
                        path, reason(number))};
  return {ec::io,
          fmt::format("{}: cannot be opened: {}", path, reason(number))};
}

result<void> check_json_text(const std::string& path, std::string_view text) {
  auto refuse = [&](const std::string& what) {
    return fail(ec::bad_format, "{}: expected JSON text: {}", path, what);
  };
  if (text.empty())
    return fail(ec::bad_format, "{}: the file is empty. Interrupted download?",
                path);
  auto head = text.substr(0, content_head_bytes);
  auto foreign = foreign_content(head, wanted_content::json);
  if (!foreign.empty())
    return refuse(foreign);
  auto first = text.find_first_not_of(" \t\r\n");
  auto last = text.find_last_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return refuse("it is blank. Interrupted download?");
  // A file system that lost its buffers leaves zeros.
  if (text[last] == '\0')
    return refuse(fmt::format("its {} bytes end with zeros: download it again",
                              text.size()));
  if (text[first] == '{' && text[last] != '}')
    return refuse(fmt::format("its {} bytes do not end with '}}', so it is cut "
                              "short: download it again",
                              text.size()));
  return {};
}

} // namespace

result<void> read_fully(const read_at& read, const std::string& path,
                        uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  int failures = 0;
  while (done < out.size()) {
    auto got = read(out.subspan(done), offset + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EIO && ++failures < io_attempts)
      continue;
    if (got < 0)
      return fail(ec::io, "{}: cannot read {} bytes at offset {}: {}", path,
                  out.size() - done, offset + done, reason(errno));
    if (got == 0)
      return fail(ec::bad_format,
                  "{}: cut short while in use: expected bytes up to {}, the "
                  "file ends at {}. Was it replaced?",
                  path, offset + out.size(), offset + done);
    done += static_cast<size_t>(got);
    failures = 0;
  }
  return {};
}

result<model_file> model_file::open(const std::string& path) {
  model_file x;
  // Without O_NONBLOCK the open of a named pipe would hang.
  x.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (x.descriptor_ < 0)
    return tl::unexpected(cannot_open(path, errno));
  struct stat facts {};
  if (::fstat(x.descriptor_, &facts) != 0)
    return fail(ec::io, "{}: {}", path, reason(errno));
  if (!S_ISREG(facts.st_mode))
    return fail(ec::bad_format, "{}: expected a file, found {}", path,
                S_ISDIR(facts.st_mode) ? "a folder" : "a pipe or device");
  x.path_ = path;
  x.bytes_ = static_cast<uint64_t>(facts.st_size);
  return x;
}

model_file::model_file(model_file&& other) noexcept {
  *this = std::move(other);
}

model_file& model_file::operator=(model_file&& other) noexcept {
  if (this == &other)
    return *this;
  if (descriptor_ >= 0)
    ::close(descriptor_);
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  bytes_ = other.bytes_;
  return *this;
}

model_file::~model_file() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

result<void> model_file::read(uint64_t offset, std::span<std::byte> out) const {
  // pread returns at most 2 GiB at a time.
  auto read = [fd = descriptor_](std::span<std::byte> to, uint64_t at) {
    return ::pread(fd, to.data(), to.size(), static_cast<off_t>(at));
  };
  return read_fully(read, path_, offset, out);
}

std::string model_file::stamp() const {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0)
    return fmt::format("{}: {}", path_, reason(errno));
  return fmt::format("{} {} bytes, inode {}, changed {}.{:09}",
                     path_.substr(path_.rfind('/') + 1), facts.st_size,
                     facts.st_ino, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

result<std::string> read_json_text(const std::string& path, size_t bytes_max) {
  auto file = model_file::open(path);
  if (!file)
    return tl::unexpected(std::move(file).error());
  // Something else may be large: look at its beginning first.
  std::array<char, content_head_bytes> head{};
  auto head_bytes = std::min<uint64_t>(head.size(), file->bytes());
  auto head_span = std::as_writable_bytes(std::span{head}).first(head_bytes);
  if (auto done = file->read(0, head_span); !done)
    return tl::unexpected(done.error());
  if (file->bytes() > bytes_max) {
    auto foreign =
      foreign_content({head.data(), head_bytes}, wanted_content::json);
    return fail(ec::bad_format, "{}: expected at most {} bytes, found {}{}{}",
                path, bytes_max, file->bytes(), foreign.empty() ? "" : "; ",
                foreign);
  }
  std::string text(file->bytes(), '\0');
  auto span = std::as_writable_bytes(std::span{text});
  if (auto done = file->read(0, span); !done)
    return tl::unexpected(done.error());
  if (auto done = check_json_text(path, text); !done)
    return tl::unexpected(done.error());
  return text;
}

result<nlohmann::json> read_json_file(const std::string& path,
                                      size_t bytes_max) {
  auto text = read_json_text(path, bytes_max);
  if (!text)
    return tl::unexpected(std::move(text).error());
  return parse_json(*text, path);
}

std::string unfinished_download(const std::string& path) {
  auto place = fs::path(path);
  std::error_code failed;
  auto target = fs::read_symlink(place, failed);
  if (!failed)
    place = place.parent_path() / target; // an absolute one replaces it
  auto folder = place.parent_path();
  auto found = incomplete_in(folder, place.filename().string());
  // Names there are hashes; any will do.
  if (found.empty())
    found = incomplete_in(folder / ".cache/huggingface/download", "");
  if (found.empty())
    return {};
  return fmt::format(", but {} is there: the download has not ended; let it "
                     "end, or start it again",
                     found);
}

} // namespace troupe
