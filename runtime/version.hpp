// The program's version, as printed and as told to peers.
#pragma once

#include <string_view>

namespace troupe {

inline constexpr std::string_view version_text = "0.1.0";

} // namespace troupe
