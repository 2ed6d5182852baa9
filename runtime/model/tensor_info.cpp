#include "runtime/model/tensor_info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

std::string describe(const tensor_info& x) {
  return fmt::format("{}[{}]",
                     x.foreign_type.empty() ? kernels::to_string(x.dtype)
                                            : x.foreign_type,
                     fmt::join(x.shape, ", "));
}

uint64_t host_tensor::elements() const {
  uint64_t n = 1;
  for (auto size : shape)
    n *= size;
  return n;
}

} // namespace troupe
