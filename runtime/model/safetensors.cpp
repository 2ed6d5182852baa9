#include "runtime/model/safetensors.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/foreign_content.hpp"
#include "runtime/model/safetensors_header.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace troupe {

namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little endian and is used as it is");

constexpr uint64_t prefix_bytes = 8;

/// `why` is what the format says of it, `head` what it may be instead.
tl::unexpected<error> not_safetensors(const std::string& path,
                                      std::string_view head,
                                      const std::string& why) {
  auto foreign = foreign_content(head, wanted_content::safetensors);
  if (!foreign.empty())
    return fail(ec::bad_format, "{}: expected a safetensors file: {}", path,
                foreign);
  auto text = quoted_text(head);
  if (!text.empty())
    return fail(ec::bad_format,
                "{}: expected a safetensors file: it begins with the text {} "
                "({}). An error message instead of the file?",
                path, text, why);
  return fail(ec::bad_format, "{}: {}", path, why);
}

/// Bounds the header's length before anything is allocated for it. `head`: the
/// first bytes.
result<uint64_t> header_length(const model_file& file, std::string_view head) {
  auto& path = file.path();
  if (head.size() < prefix_bytes)
    return not_safetensors(path, head,
                           fmt::format("expected at least {} bytes, found {}",
                                       prefix_bytes, head.size()));
  uint64_t length = 0;
  std::memcpy(&length, head.data(), prefix_bytes);
  if (length > safetensors_header_max)
    return not_safetensors(
      path, head,
      fmt::format("expected a header of at most {} bytes, found {}",
                  safetensors_header_max, length));
  if (length > file.bytes() - prefix_bytes) {
    auto why = fmt::format("truncated: the header ends at byte {}, but the "
                           "file has {}{}. Incomplete download?",
                           prefix_bytes + length, file.bytes(),
                           unfinished_download(path));
    // A length may look like the first bytes of another format.
    if (head.substr(prefix_bytes).starts_with("{\""))
      return fail(ec::bad_format, "{}: {}", path, why);
    return not_safetensors(path, head, why);
  }
  if (length == 0)
    return not_safetensors(path, head, "expected a header, found none");
  return length;
}

result<std::string> read_header_text(const model_file& file) {
  auto& path = file.path();
  if (file.bytes() == 0)
    return fail(ec::bad_format,
                "{}: the file is empty{}. Interrupted download?", path,
                unfinished_download(path));
  std::array<char, content_head_bytes> block{};
  auto head_bytes = std::min<uint64_t>(block.size(), file.bytes());
  auto head_span = std::as_writable_bytes(std::span{block}).first(head_bytes);
  if (auto done = file.read(0, head_span); !done)
    return tl::unexpected(done.error());
  std::string_view head{block.data(), head_bytes};
  auto length = header_length(file, head);
  if (!length)
    return tl::unexpected(std::move(length).error());
  std::string text(*length, '\0');
  auto span = std::as_writable_bytes(std::span{text});
  if (auto done = file.read(prefix_bytes, span); !done)
    return tl::unexpected(done.error());
  if (text.front() != '{')
    return not_safetensors(path, head,
                           "expected a header that begins with '{'");
  return text;
}

result<void> check_size(const model_file& file, const safetensors_header& x,
                        uint64_t data_begin) {
  auto& path = file.path();
  auto file_bytes = file.bytes();
  auto expected = data_begin + x.data_bytes;
  if (file_bytes < expected)
    return fail(ec::bad_format,
                "{}: truncated: tensor {} ends at byte {}, but the file has "
                "{}{}. Incomplete download?",
                path, x.last_tensor, expected, file_bytes,
                unfinished_download(path));
  if (file_bytes > expected)
    return fail(ec::bad_format,
                "{}: {} bytes too many: the tensors end at byte {}, the file "
                "at {}",
                path, file_bytes - expected, expected, file_bytes);
  return {};
}

} // namespace

result<safetensors_file> safetensors_file::open(const std::string& path) {
  auto opened = model_file::open(path);
  if (!opened)
    return tl::unexpected(std::move(opened).error());
  auto text = read_header_text(*opened);
  if (!text)
    return tl::unexpected(std::move(text).error());
  auto data_begin = prefix_bytes + text->size();
  auto header = parse_safetensors_header(*text, data_begin, path);
  if (!header)
    return tl::unexpected(std::move(header).error());
  if (auto done = check_size(*opened, *header, data_begin); !done)
    return tl::unexpected(done.error());
  safetensors_file x{std::move(*opened)};
  x.tensors_ = std::move(header->tensors);
  x.metadata_ = std::move(header->metadata);
  return x;
}

safetensors_file::safetensors_file(model_file file) : file_(std::move(file)) {
  // nop
}

safetensors_file::safetensors_file(safetensors_file&& other) noexcept
  : file_(std::move(other.file_)), tensors_(std::move(other.tensors_)),
    metadata_(std::move(other.metadata_)), bytes_read_(other.bytes_read()) {
  // nop
}

safetensors_file&
safetensors_file::operator=(safetensors_file&& other) noexcept {
  file_ = std::move(other.file_);
  tensors_ = std::move(other.tensors_);
  metadata_ = std::move(other.metadata_);
  bytes_read_ = other.bytes_read();
  return *this;
}

const tensor_info* safetensors_file::find(std::string_view name) const {
  auto i = tensors_.find(name);
  return i == tensors_.end() ? nullptr : &i->second;
}

std::string safetensors_file::stamp() const {
  return file_.stamp();
}

result<void> safetensors_file::read(const tensor_info& x, uint64_t begin,
                                    std::span<std::byte> out) const {
  TROUPE_ASSERT(begin <= x.bytes && out.size() <= x.bytes - begin);
  if (auto done = file_.read(x.offset + begin, out); !done)
    return wrap(x.name, std::move(done).error());
  bytes_read_.fetch_add(out.size(), std::memory_order_relaxed);
  return {};
}

} // namespace troupe
