#include "actors/dispatch/batch_deadline.hpp"

#include <algorithm>

namespace troupe {

batch_deadline::batch_deadline(options x) : options_(x) {
  // nop
}

void batch_deadline::recent::add(double x) {
  values[seen % window] = x;
  ++seen;
}

double batch_deadline::recent::high() const {
  auto count = std::min(seen, window);
  if (count == 0)
    return 0;
  auto sorted = values;
  auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(count * 95 / 100);
  std::nth_element(sorted.begin(), nth, end);
  return *nth;
}

void batch_deadline::observe(size_t pairs, duration latency) {
  auto ns = static_cast<double>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(latency).count());
  if (pairs <= small_batch_pairs)
    fixed_ns_.add(ns);
  else
    per_pair_ns_.add(ns / static_cast<double>(pairs));
}

duration batch_deadline::wait_for(size_t pairs, size_t queued_pairs) const {
  auto large = pairs + queued_pairs > small_batch_pairs;
  auto samples = fixed_ns_.seen + per_pair_ns_.seen;
  // A large batch says nothing of a small one's latency per pair, so a size
  // that was never seen gets the ceiling.
  if (samples < options_.samples_min || (large && per_pair_ns_.seen == 0))
    return options_.ceiling;
  auto model_ns = fixed_ns_.high();
  if (large)
    model_ns += per_pair_ns_.high() * static_cast<double>(pairs + queued_pairs);
  auto wanted = std::chrono::duration_cast<duration>(
    std::chrono::duration<double, std::nano>(options_.factor * model_ns));
  return std::clamp(wanted, options_.floor, options_.ceiling);
}

} // namespace troupe
