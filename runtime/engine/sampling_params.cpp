// See sampling_params.hpp.
#include "runtime/engine/sampling_params.hpp"

#include "runtime/engine/stop_matcher.hpp"

#include <algorithm>

namespace troupe {

namespace {

tl::unexpected<error> refused(std::string_view field, std::string_view expected,
                              float found) {
  return fail(ec::invalid_argument, "{}: expected {}, found {}", field,
              expected, found);
}

} // namespace

result<void> validate(const sampling_params& x) {
  // Written so that NaN fails too.
  if (!(x.temperature >= 0 && x.temperature <= temperature_limit))
    return refused("temperature", "0 to 100", x.temperature);
  if (!(x.top_p > 0 && x.top_p <= 1))
    return refused("top_p", "above 0 and up to 1", x.top_p);
  if (!(x.min_p >= 0 && x.min_p <= 1))
    return refused("min_p", "0 to 1", x.min_p);
  if (x.max_tokens < 1 || x.max_tokens > max_tokens_limit)
    return fail(ec::invalid_argument, "max_tokens: expected 1 to {}, found {}",
                max_tokens_limit, x.max_tokens);
  auto negative = std::find_if(x.stop_ids.begin(), x.stop_ids.end(),
                               [](token_id id) { return id < 0; });
  if (negative != x.stop_ids.end())
    return fail(ec::invalid_argument,
                "stop ids: expected token ids from 0, found {}", *negative);
  if (auto stops = stop_matcher::make(x.stop, x.stop_ids); !stops)
    return tl::unexpected(stops.error());
  return {};
}

} // namespace troupe
