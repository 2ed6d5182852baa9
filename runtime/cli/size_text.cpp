#include "runtime/cli/size_text.hpp"

#include <array>
#include <fmt/format.h>

namespace troupe::cli {

namespace {

/// `x` with three significant digits or all digits before the point.
std::string digits(double x) {
  if (x >= 100)
    return fmt::format("{:.0f}", x);
  return x >= 10 ? fmt::format("{:.1f}", x) : fmt::format("{:.2f}", x);
}

} // namespace

std::string bytes_text(uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  auto x = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; x >= 1023.5 && unit + 1 < units.size(); ++unit)
    x /= 1024;
  return fmt::format("{} {}", digits(x), units[unit]);
}

std::string count_text(uint64_t count) {
  constexpr std::array units{"K", "M", "B", "T"};
  if (count < 1000)
    return std::to_string(count);
  auto x = static_cast<double>(count) / 1000;
  size_t unit = 0;
  for (; x >= 999.5 && unit + 1 < units.size(); ++unit)
    x /= 1000;
  return fmt::format("{} {}", digits(x), units[unit]);
}

} // namespace troupe::cli
