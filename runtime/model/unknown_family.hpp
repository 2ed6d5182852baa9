// What to say of a config.json whose family is not known.
#pragma once

#include "runtime/model/model_family.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace troupe {

/// The known families, which of them comes nearest by the settings it reads,
/// and the first setting of `root` that this one does not read.
std::string describe_unknown_family(const nlohmann::json& root,
                                    const family_catalog& families);

} // namespace troupe
