// What the kernel says about this process's memory. Everything is best effort:
// where /proc does not say it, the answer is absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe {

/// Of a whole process or of one mapping; see proc(5), smaps.
struct page_facts {
  uint64_t resident_bytes = 0;
  uint64_t proportional_bytes = 0;   ///< Shared pages divided by their users.
  uint64_t huge_anonymous_bytes = 0; ///< In huge pages of memory of its own,
  uint64_t huge_file_bytes = 0;      ///< of files (or of shared memory).

  uint64_t huge_bytes() const {
    return huge_anonymous_bytes + huge_file_bytes;
  }
};

/// Of this process.
std::optional<page_facts> pages_of_process();

/// Of the mapping that holds `address`.
std::optional<page_facts> pages_of_mapping(const void* address);

/// Reads the facts that stand in the lines of `text`, and adds them up.
page_facts parse_pages(std::string_view text);

} // namespace troupe
