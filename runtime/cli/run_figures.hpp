// Figures of repeated measurements.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::cli {

/// Speeds of one generation, in tokens per second.
struct generation_speed {
  double prefill = 0;
  double decode = 0;
};

/// When what happened in one generation, in seconds from its start.
struct generation_times {
  size_t prompt_tokens = 0;
  std::vector<double> tokens; ///< Of each generated token.
};

/// Prefill: all prompt tokens until the first generated one. Decode: the tokens
/// after it. @pre at least two tokens
generation_speed speed_of(const generation_times& x);

struct spread {
  double median = 0; ///< Mean of the middle two of an even number.
  double least = 0;
  double most = 0;
};

/// @pre `values` is not empty
spread spread_of(std::vector<double> values);

/// The spread of a[i] / b[i]: of pairs measured one after the other, so that
/// slow changes of the machine cancel. @pre same size, not empty
spread ratio_of(const std::vector<double>& a, const std::vector<double>& b);

} // namespace troupe::cli
