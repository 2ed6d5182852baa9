// The recipe as text, one property a line: what `inspect` shows and the model
// digest covers. Equal recipes give equal text.
#pragma once

#include "runtime/model/model_config.hpp"

#include <string>

namespace troupe {

/// "hidden_size 256\n..."; numbers in their shortest exact form. Layers of one
/// kind share a line.
std::string canonical_recipe(const model_config& x);

} // namespace troupe
