// Twins of kernels/attention.hpp: the rule of that file written down one number
// after the other (equal bits), and plain softmax attention in double.
#pragma once

#include "kernels/attention.hpp"

#include <span>
#include <vector>

namespace troupe::kernels::reference {

/// As kernels::attention, on the calling thread; `options.isa` is ignored.
void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out);

/// softmax(q k^T scale) v over the whole history at once, in double. Returns
/// [rows][heads * head_dim].
std::vector<double> attention_f64(const attention_options& options,
                                  std::span<const attention_row> rows,
                                  matrix_view<const float> q);

} // namespace troupe::kernels::reference
