// The document of GET /cluster as tables for people.
#pragma once

#include "runtime/error.hpp"

#include <string>
#include <string_view>

namespace troupe::cli {

/// Fails with bad_format when `document` is not what a head answers.
result<std::string> status_text(std::string_view document);

} // namespace troupe::cli
