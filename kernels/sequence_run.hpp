// How recurrent kernels see a batch: rows of one sequence follow each other,
// and the sequence has a state before the first and after the last of them.
#pragma once

#include "kernels/tensor.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::kernels {

/// The next `rows` rows of a batch, at least one. The two states may be the
/// same memory; otherwise no state of a call overlaps another.
struct sequence_run {
  size_t rows = 0;
  std::span<const float> state_in;
  std::span<float> state_out;
};

/// Returns whether the runs make up `rows` rows, with states of `state_size`.
inline bool covers(std::span<const sequence_run> runs, size_t rows,
                   size_t state_size) {
  size_t total = 0;
  for (const auto& run : runs) {
    if (run.rows == 0 || run.state_in.size() != state_size ||
        run.state_out.size() != state_size)
      return false;
    total += run.rows;
  }
  return total == rows;
}

/// Returns the index of the first row of each run.
inline std::vector<size_t> first_rows_of(std::span<const sequence_run> runs) {
  std::vector<size_t> first;
  size_t at = 0;
  for (const auto& run : runs) {
    first.push_back(at);
    at += run.rows;
  }
  return first;
}

} // namespace troupe::kernels
