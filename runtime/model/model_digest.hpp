// What two processes compare to know that they serve the same model.
#pragma once

#include "runtime/model/checkpoint.hpp"
#include "runtime/model/model_config.hpp"

#include <string>

namespace troupe {

/// SHA-256, as 64 hex digits, of the canonical recipe and of every tensor's
/// name, type and shape. Values are not read, and the split into files does not
/// matter.
std::string model_digest(const model_config& config, const checkpoint& files);

} // namespace troupe
