// RoPE scaling on whole arrays in f32.
#include "kernels/reference/rope_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace troupe::kernels::reference {

namespace {

constexpr auto pi = std::numbers::pi;

/// theta^(2 i / rotary_dim): a wavelength over 2 pi.
std::vector<float> periods(double theta, size_t rotary_dim) {
  std::vector<float> out;
  for (size_t i = 0; i < rotary_dim; i += 2)
    out.push_back(
      std::pow(static_cast<float>(theta),
               static_cast<float>(i) / static_cast<float>(rotary_dim)));
  return out;
}

void scale_llama3(std::vector<float>& frequencies, const rope_scaling& x,
                  float factor) {
  const auto length = static_cast<double>(x.original_positions);
  for (float& f : frequencies) {
    const float wave = static_cast<float>(2 * pi) / f;
    const float smooth =
      (static_cast<float>(length) / wave -
       static_cast<float>(x.low_freq_factor)) /
      static_cast<float>(x.high_freq_factor - x.low_freq_factor);
    if (wave > length / x.low_freq_factor)
      f = f / factor;
    else if (wave >= length / x.high_freq_factor)
      f = (1.0f - smooth) * f / factor + smooth * f;
  }
}

void scale_yarn(std::vector<float>& frequencies, const rope_scaling& x,
                double theta, float factor) {
  const auto dims = static_cast<double>(2 * frequencies.size());
  const auto length = static_cast<double>(x.original_positions);
  const auto turning = [&](double rotations) {
    return dims * std::log(length / (rotations * 2 * pi)) /
           (2 * std::log(theta));
  };
  double first = turning(x.beta_fast);
  double last = turning(x.beta_slow);
  if (x.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, dims - 1);
  if (first == last)
    last += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float along = (static_cast<float>(i) - static_cast<float>(first)) /
                        static_cast<float>(last - first);
    const float kept = 1.0f - std::clamp(along, 0.0f, 1.0f);
    frequencies[i] =
      frequencies[i] / factor * (1.0f - kept) + frequencies[i] * kept;
  }
}

} // namespace

std::vector<float> rope_inverse_frequencies(double theta, size_t rotary_dim,
                                            const rope_scaling& scaling,
                                            rope_set set) {
  std::vector<float> out = periods(theta, rotary_dim);
  const bool is_long = set == rope_set::long_range;
  if (scaling.kind == rope_scaling_kind::longrope)
    for (size_t i = 0; i < out.size(); ++i)
      out[i] *= static_cast<float>(is_long ? scaling.long_factors[i]
                                           : scaling.short_factors[i]);
  for (float& x : out)
    x = 1.0f / x;
  const auto factor = static_cast<float>(
    scaling.factor != 0 ? scaling.factor
                        : static_cast<double>(scaling.max_positions) /
                            static_cast<double>(scaling.original_positions));
  if (scaling.kind == rope_scaling_kind::linear)
    for (float& x : out)
      x /= factor;
  if (scaling.kind == rope_scaling_kind::llama3)
    scale_llama3(out, scaling, factor);
  if (scaling.kind == rope_scaling_kind::yarn)
    scale_yarn(out, scaling, theta, factor);
  return out;
}

} // namespace troupe::kernels::reference
