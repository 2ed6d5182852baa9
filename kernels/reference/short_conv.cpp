// The convolution over a list that begins with the state.
#include "kernels/reference/short_conv.hpp"

#include "kernels/math.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe::kernels::reference {

void short_conv(const short_conv_options& options, matrix_view<const float> x,
                std::span<const sequence_run> runs, matrix_view<float> y) {
  const size_t kernel = options.taps.rows;
  const size_t channels = options.taps.cols;
  size_t first = 0;
  for (const auto& run : runs) {
    for (size_t c = 0; c < channels; ++c) {
      std::vector<float> history;
      for (size_t i = 0; i + 1 < kernel; ++i)
        history.push_back(run.state_in[i * channels + c]);
      for (size_t t = 0; t < run.rows; ++t) {
        history.push_back(x.row(first + t)[c]);
        float sum = options.bias.empty() ? 0.0f : options.bias[c];
        for (size_t j = 0; j < kernel; ++j)
          sum = std::fma(options.taps.row(j)[c], history[t + j], sum);
        const bool silu = options.activation == conv_activation::silu;
        y.row(first + t)[c] = silu ? silu_f32(sum) : sum;
      }
      for (size_t i = 0; i + 1 < kernel; ++i)
        run.state_out[i * channels + c] = history[run.rows + i];
    }
    first += run.rows;
  }
}

} // namespace troupe::kernels::reference
