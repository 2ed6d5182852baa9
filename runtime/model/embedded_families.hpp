// The files config/models/*.toml, embedded by CMake, so that the program works
// alone.
#pragma once

#include <span>
#include <string_view>

namespace troupe {

struct embedded_family {
  std::string_view file; ///< "config/models/NAME.toml"
  std::string_view text;
};

std::span<const embedded_family> embedded_families();

} // namespace troupe
