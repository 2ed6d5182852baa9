// What a convolution kernel gets, the same for every Highway target.
#pragma once

#include "kernels/short_conv.hpp"

#include <array>

namespace troupe::kernels {

/// One row of some channels.
struct short_conv_job {
  size_t kernel = 0;
  std::array<const float*, conv_taps_max> inputs{}; ///< Oldest first.
  std::array<const float*, conv_taps_max> taps{};
  const float* bias = nullptr; ///< Or none.
  conv_activation activation = conv_activation::none;
  size_t channels = 0;
  float* y = nullptr;
};

} // namespace troupe::kernels
