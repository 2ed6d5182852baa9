// The sections of a family file that say what the family is, as opposed to
// where config.json and the checkpoint say something.
#pragma once

#include "runtime/model/model_family.hpp"

namespace troupe {

/// Reads [norm], [attention], [router], [ffn], [experts] and [layers].
void read_family_properties(toml_section root, model_family& x);

} // namespace troupe
