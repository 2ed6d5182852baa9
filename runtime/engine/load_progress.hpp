// How far the loading of weights is, in bytes of the checkpoint.
#pragma once

#include "runtime/model/opened_model.hpp"

#include <cstdint>

namespace troupe {

struct load_progress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0; ///< 0: not known.

  /// Whole percent; 100 only when all is done.
  uint32_t percent() const;
};

enum class load_scope { backbone, whole_model };

/// Bytes that loading `scope` reads from the files.
uint64_t bytes_to_load(const opened_model& model, load_scope scope);

} // namespace troupe
