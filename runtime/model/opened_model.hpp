// A model folder, checked and ready to load weights from: recipe, files, names.
// Immutable and shared; the tokenizer is opened apart (folders without one are
// fine).
#pragma once

#include "runtime/error.hpp"
#include "runtime/model/checkpoint.hpp"
#include "runtime/model/generation_config.hpp"
#include "runtime/model/model_config.hpp"
#include "runtime/model/model_family.hpp"
#include "runtime/model/tensor_map.hpp"

#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct opened_model {
  std::string folder;
  model_config config;
  generation_config generation;
  checkpoint files;
  tensor_map tensors;
  std::string digest; ///< 64 hex digits; see `model_digest`.
  /// What is odd without being wrong, a sentence each; for the user.
  std::vector<std::string> warnings;
};

using model_ptr = std::shared_ptr<const opened_model>;

/// Opens `folder` and checks all but the weights' values. Faults of several
/// files are in one message; a model that is not supported is refused before
/// its weights are looked at.
result<model_ptr>
open_model(const std::string& folder,
           const family_catalog& families = family_catalog::built_in());

} // namespace troupe
