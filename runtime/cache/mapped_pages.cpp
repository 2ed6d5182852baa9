#include "runtime/cache/mapped_pages.hpp"

#include <charconv>
#include <fstream>
#include <string>

namespace troupe {

namespace {

/// The number after "NAME:" and blanks, in kB.
std::optional<uint64_t> value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name))
    return std::nullopt;
  line.remove_prefix(name.size());
  while (line.starts_with(' '))
    line.remove_prefix(1);
  uint64_t kilobytes = 0;
  const auto parsed =
    std::from_chars(line.data(), line.data() + line.size(), kilobytes);
  if (parsed.ec != std::errc{})
    return std::nullopt;
  return kilobytes * 1024;
}

void read_line(std::string_view line, page_facts& out) {
  if (auto x = value_of(line, "Rss:"))
    out.resident_bytes += *x;
  else if (auto y = value_of(line, "Pss:"))
    out.proportional_bytes += *y;
  else if (auto z = value_of(line, "AnonHugePages:"))
    out.huge_anonymous_bytes += *z;
  else if (auto f = value_of(line, "FilePmdMapped:"))
    out.huge_file_bytes += *f;
  else if (auto s = value_of(line, "ShmemPmdMapped:"))
    out.huge_file_bytes += *s;
}

/// The range of a mapping's first line, "begin-end rwxp ...", in hexadecimal.
bool begins_mapping_of(std::string_view line, uintptr_t address) {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  const auto* last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, begin, 16);
  if (first.ec != std::errc{} || first.ptr == last || *first.ptr != '-')
    return false;
  const auto second = std::from_chars(first.ptr + 1, last, end, 16);
  return second.ec == std::errc{} && begin <= address && address < end;
}

/// Lines of facts are "Name:   value kB"; anything else begins a mapping.
bool is_fact(std::string_view line) {
  const auto word = line.substr(0, line.find(' '));
  return word.ends_with(':') && word.find('-') == std::string_view::npos;
}

} // namespace

page_facts parse_pages(std::string_view text) {
  page_facts out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    read_line(text.substr(0, end), out);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::optional<page_facts> pages_of_process() {
  std::ifstream in{"/proc/self/smaps_rollup"};
  if (!in)
    return std::nullopt;
  page_facts out;
  for (std::string line; std::getline(in, line);)
    read_line(line, out);
  return out;
}

std::optional<page_facts> pages_of_mapping(const void* address) {
  std::ifstream in{"/proc/self/smaps"};
  page_facts out;
  bool is_inside = false;
  for (std::string line; std::getline(in, line);) {
    if (is_fact(line)) {
      if (is_inside)
        read_line(line, out);
      continue;
    }
    if (is_inside)
      return out;
    is_inside = begins_mapping_of(line, reinterpret_cast<uintptr_t>(address));
  }
  return is_inside ? std::optional{out} : std::nullopt;
}

} // namespace troupe
