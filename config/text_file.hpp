// Reading a whole small file (settings, JSON) with a bound on its size.
#pragma once

#include "runtime/error.hpp"

#include <cstddef>
#include <string>

namespace troupe {

/// Returns the bytes of the regular file `path`. Fails with not_found, io, or
/// bad_format when it is no regular file or above `bytes_max`.
result<std::string> read_text_file(const std::string& path, size_t bytes_max);

} // namespace troupe
