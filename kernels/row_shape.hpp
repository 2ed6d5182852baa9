// A row whose element type is known at run time only, as the row kernels get
// it.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>

namespace troupe::kernels {

struct row_shape {
  dtype type = dtype::f32; ///< f32 or bf16.
  size_t cols = 0;
};

} // namespace troupe::kernels
