// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::cli {

/// "512 B", "11.3 MiB": three to four digits, powers of 1024.
std::string bytes_text(uint64_t bytes);

/// "11.3 M", "2.71 B": a count of parameters, powers of 1000.
std::string count_text(uint64_t count);

} // namespace troupe::cli
