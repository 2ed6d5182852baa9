#include "runtime/model/foreign_content.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

namespace troupe {

namespace {

struct signature {
  std::string_view bytes;
  std::string_view meaning;
};

constexpr std::array signatures{
  signature{"PK\x03\x04", "it is a zip archive, such as a PyTorch .bin, .pt or "
                          ".ckpt file: convert it to safetensors"},
  signature{"\x80\x02", "it is a Python pickle: convert it to safetensors"},
  signature{"\x80\x03", "it is a Python pickle: convert it to safetensors"},
  signature{"\x80\x04", "it is a Python pickle: convert it to safetensors"},
  signature{"\x80\x05", "it is a Python pickle: convert it to safetensors"},
  signature{"GGUF", "it is a GGUF file: download the safetensors files"},
  signature{"\x89HDF\r\n",
            "it is an HDF5 file: download the safetensors files"},
  signature{"\x1f\x8b", "it is compressed with gzip: unpack it"},
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Without a byte order mark and white space.
std::string_view trimmed(std::string_view x) {
  if (x.starts_with("\xef\xbb\xbf"))
    x.remove_prefix(3);
  while (!x.empty() && is_space(x.front()))
    x.remove_prefix(1);
  return x;
}

/// @pre `prefix` is in lower case
bool begins_with(std::string_view x, std::string_view prefix) {
  return x.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), x.begin(),
                    [](char a, char b) {
                      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
                    });
}

bool is_markup(std::string_view x) {
  return begins_with(x, "<!doctype") || begins_with(x, "<html") ||
         begins_with(x, "<head") || begins_with(x, "<?xml") ||
         begins_with(x, "<!--");
}

/// The pointer's "size N" line.
std::string lfs_pointer(std::string_view head) {
  constexpr std::string_view key = "\nsize ";
  auto at = head.find(key);
  uint64_t size = 0;
  if (at != std::string_view::npos) {
    auto digits = head.substr(at + key.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
  }
  return fmt::format("it is a Git LFS pointer to {}: run git lfs pull in its "
                     "repository, or download the file itself",
                     size == 0 ? "the file" : fmt::format("{} bytes", size));
}

} // namespace

std::string foreign_content(std::string_view head, wanted_content wanted) {
  if (head.starts_with("version https://git-lfs") ||
      head.starts_with("version https://hawser"))
    return lfs_pointer(head);
  auto text = trimmed(head);
  if (is_markup(text))
    return "it is a web page, such as a login or error page: download it again "
           "(does the model ask you to log in or to accept a licence?)";
  for (auto& x : signatures)
    if (head.starts_with(x.bytes))
      return std::string{x.meaning};
  if (wanted == wanted_content::safetensors && text.starts_with("{"))
    return "it is JSON text: an index or an error message under a wrong name?";
  return {};
}

std::string quoted_text(std::string_view head) {
  constexpr size_t shown_max = 60;
  auto text = trimmed(head);
  auto end = std::find_if(text.begin(), text.end(),
                          [](char c) { return c == '\n' || c == '\r'; });
  text = text.substr(0, static_cast<size_t>(end - text.begin()));
  bool printable = std::all_of(text.begin(), text.end(),
                               [](char c) { return c >= 0x20 && c < 0x7f; });
  if (text.empty() || !printable)
    return {};
  return text.size() <= shown_max
           ? fmt::format("\"{}\"", text)
           : fmt::format("\"{}...\"", text.substr(0, shown_max));
}

} // namespace troupe
