#include "runtime/cli/run_figures.hpp"

#include "runtime/assert.hpp"

#include <algorithm>

namespace troupe::cli {

generation_speed speed_of(const generation_times& x) {
  TROUPE_ASSERT(x.tokens.size() >= 2);
  const auto first = x.tokens.front();
  const auto rest = x.tokens.back() - first;
  return {static_cast<double>(x.prompt_tokens) / first,
          static_cast<double>(x.tokens.size() - 1) / rest};
}

spread spread_of(std::vector<double> values) {
  TROUPE_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const auto upper = values.size() / 2;
  const auto lower = (values.size() - 1) / 2;
  return {(values[lower] + values[upper]) / 2, values.front(), values.back()};
}

spread ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  TROUPE_ASSERT(a.size() == b.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < a.size(); ++i)
    ratios.push_back(a[i] / b[i]);
  return spread_of(std::move(ratios));
}

} // namespace troupe::cli
