#include "runtime/server/completion_meter.hpp"

namespace troupe {

namespace {

double seconds(duration x) {
  return std::chrono::duration<double>{x}.count();
}

} // namespace

completion_meter::completion_meter(metrics& counts, time_point now)
  : counts_(counts), started_(now), last_(now) {
  counts_.at(metric::requests_running).add(1);
}

void completion_meter::tokens(size_t count, time_point now) {
  if (count == 0)
    return;
  counts_.at(metric::tokens, {"decode"}).add(static_cast<double>(count));
  last_ = now;
  if (first_) {
    after_first_ += count;
    return;
  }
  first_ = now;
  counts_.at(metric::ttft_seconds).observe(seconds(now - started_));
}

void completion_meter::finished(const completion_end& x) {
  counts_.at(metric::tokens, {"prefill"}).add(x.prompt_tokens);
  end(to_string(x.reason));
}

void completion_meter::ended_early(std::string_view outcome) {
  end(outcome);
}

void completion_meter::end(std::string_view outcome) {
  if (after_first_ > 0)
    counts_.at(metric::tpot_seconds)
      .observe(seconds(last_ - *first_) / static_cast<double>(after_first_));
  counts_.at(metric::requests, {outcome}).add();
  counts_.at(metric::requests_running).add(-1);
}

} // namespace troupe
