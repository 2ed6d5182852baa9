// Rotary embedding, one pair after the other.
#include "kernels/reference/rope.hpp"

namespace troupe::kernels::reference {

void apply_rope(const rope_options& options, matrix_view<const float> angles,
                matrix_view<float> x) {
  const size_t half = options.rotary_dim / 2;
  const bool split = options.pairs == rope_pairs::half_split;
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t head = 0; head < x.cols; head += options.head_dim)
      for (size_t i = 0; i < half; ++i) {
        float& first = x.row(r)[head + (split ? i : 2 * i)];
        float& second = x.row(r)[head + (split ? half + i : 2 * i + 1)];
        const float cosine = angles.row(r)[i];
        const float sine = angles.row(r)[half + i];
        const float a = first;
        const float b = second;
        first = a * cosine - b * sine;
        second = b * cosine + a * sine;
      }
}

} // namespace troupe::kernels::reference
