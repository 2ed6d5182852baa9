// Twins of kernels/attention.hpp: the rule of that file written down one number
// after the other (equal bits), and plain softmax attention in double.
#pragma once

#include "kernels/attention.hpp"

#include <span>
#include <vector>

namespace troupe::kernels::reference {

/// As kernels::attention, on the calling thread; `options.isa` is ignored. It
/// walks over all blocks and masks what a row does not see.
void attention(const attention_options& options,
               std::span<const attention_row> rows, matrix_view<const float> q,
               output_view out);

/// softmax(q k^T scale) v over all visible positions at once, in double; a sink
/// is one more score without a value. Returns [rows][heads * value_size()].
std::vector<double> attention_f64(const attention_options& options,
                                  std::span<const attention_row> rows,
                                  matrix_view<const float> q);

} // namespace troupe::kernels::reference
