// What a request may say about how its tokens are chosen and when they end.
#pragma once

#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

struct sampling_params {
  float temperature = 0.0f; ///< 0: the most probable token (greedy).
  float top_p = 1.0f;       ///< (0, 1]: keep this share of probability; 1: all.
  float min_p = 0.0f;       ///< [0, 1]: least share of the best one's; 0: off.
  uint32_t top_k = 0;       ///< Keep this many tokens; 0: all.
  uint64_t seed = 0;
  uint32_t max_tokens = 128;
  std::vector<std::string> stop;  ///< The text ends before the first of them.
  std::vector<token_id> stop_ids; ///< In addition to the model's own.
  bool ignore_eos = false;        ///< The model's own stop ids do not count.

  bool operator==(const sampling_params&) const = default;
};

/// Largest `max_tokens` a request may ask for; the context bounds it further.
constexpr uint32_t max_tokens_limit = 1u << 24;
/// A temperature below this one is greedy: no weight but the best one's is
/// left.
constexpr float greedy_below = 1e-5f;
/// Largest temperature: beyond it all tokens are as good as equal.
constexpr float temperature_limit = 100.0f;

/// Fails with `invalid_argument`, naming the field, what is allowed and what
/// was found. Everything that comes from outside goes through here.
result<void> validate(const sampling_params& x);

} // namespace troupe
