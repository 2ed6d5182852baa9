// Several failures that are told at once, up to a bound.
#pragma once

#include "runtime/error.hpp"

#include <string>
#include <vector>

namespace troupe {

class fault_list {
public:
  /// Messages shown; the others are counted.
  static constexpr size_t shown_max = 20;

  void add(error x);

  bool empty() const {
    return count_ == 0;
  }

  /// One failure as it is; several as "TITLE: N problems:" and a line each,
  /// with the code of the first. @pre not empty
  error as_error(std::string_view title) const;

private:
  std::vector<error> shown_;
  size_t count_ = 0;
};

} // namespace troupe
