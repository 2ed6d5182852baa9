// See sampler.hpp.
#include "runtime/engine/sampler.hpp"

#include "kernels/math.hpp"
#include "kernels/softmax_weights.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe {

namespace {

/// Candidates sorted in one go before the mass of the head is looked at.
constexpr size_t sorted_block = 256;

struct wide_product {
  uint32_t high;
  uint32_t low;
};

wide_product multiply(uint32_t x, uint32_t y) {
  auto product = uint64_t{x} * y;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
}

} // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key) {
  constexpr int rounds = 10;
  for (int i = 0; i < rounds; ++i) {
    auto a = multiply(0xD2511F53u, counter[0]);
    auto b = multiply(0xCD9E8D57u, counter[2]);
    counter = {b.high ^ counter[1] ^ key[0], b.low,
               a.high ^ counter[3] ^ key[1], a.low};
    key[0] += 0x9E3779B9u; // golden ratio
    key[1] += 0xBB67AE85u; // sqrt(3) - 1
  }
  return counter;
}

double uniform_draw(uint64_t seed, draw_key key) {
  auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  auto bits = philox4x32({low(key.position), high(key.position), key.choice, 0},
                         {low(seed), high(seed)});
  auto wide = (uint64_t{bits[1]} << 32) | bits[0];
  return static_cast<double>(wide >> 11) * 0x1p-53;
}

result<token_id> argmax(std::span<const float> logits) {
  TROUPE_ASSERT(!logits.empty());
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      return fail(ec::not_finite, "logits: column {} of {} is NaN", i,
                  logits.size());
    if (logits[i] > logits[best])
      best = i;
  }
  if (!std::isfinite(logits[best]))
    return fail(ec::not_finite, "logits: the largest of {} is {}",
                logits.size(), logits[best]);
  return static_cast<token_id>(best);
}

result<token_id> sampler::sample(std::span<const float> logits,
                                 const sampling_params& params, draw_key key) {
  auto best = argmax(logits);
  if (!best || params.temperature < greedy_below || params.top_k == 1)
    return best;
  auto largest = logits[static_cast<size_t>(*best)];
  if (params.top_k > 0 && params.top_k < logits.size())
    collect_best(logits, largest, params);
  else
    collect_all(logits, largest, params);
  if (params.top_p < 1.0f)
    keep_top_p(params.top_p);
  double total = 0;
  for (const auto& x : candidates_)
    total += double{x.weight};
  auto mark = uniform_draw(params.seed, key) * total;
  double sum = 0;
  for (const auto& x : candidates_) {
    sum += double{x.weight};
    if (sum > mark)
      return x.id;
  }
  return candidates_.back().id; // mark was rounded up to total
}

namespace {

/// The order of the filters: by logit from above, ties by the lower id.
constexpr auto is_better = [](const auto& x, const auto& y) {
  return x.logit != y.logit ? x.logit > y.logit : x.id < y.id;
};

constexpr auto has_lower_id = [](const auto& x, const auto& y) {
  return x.id < y.id;
};

} // namespace

/// Lists, by id, the top_k tokens that also pass min_p. Both filters keep a
/// head of the same order, so the cheaper one goes first: k exponentials.
void sampler::collect_best(std::span<const float> logits, float best,
                           const sampling_params& params) {
  const size_t k = params.top_k;
  const auto room = std::max<size_t>(4 * k, sorted_block);
  const auto keep_k = [&] {
    auto end = candidates_.begin() + static_cast<ptrdiff_t>(k);
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(),
                     is_better);
    candidates_.resize(k);
  };
  candidates_.clear();
  // Below the k-th best so far there is no chance; of equals the lower id,
  // which came first, stays.
  float bar = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > bar))
      continue;
    candidates_.push_back({logits[i], 0.0f, static_cast<token_id>(i)});
    if (candidates_.size() == room) {
      keep_k();
      bar = candidates_.back().logit;
    }
  }
  if (candidates_.size() > k)
    keep_k();
  // Which ones remain is exact, their places are the library's choice.
  std::sort(candidates_.begin(), candidates_.end(), has_lower_id);
  for (auto& x : candidates_)
    x.weight = kernels::exp_f32((x.logit - best) / params.temperature);
  std::erase_if(candidates_, [&](const candidate& x) {
    return x.weight == 0 || x.weight < params.min_p;
  });
}

/// Lists, by id, the tokens that have a chance and pass min_p.
void sampler::collect_all(std::span<const float> logits, float best,
                          const sampling_params& params) {
  weights_.resize(logits.size());
  kernels::softmax_weights(kernels::best_isa(), logits, best,
                           params.temperature, weights_);
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i)
    if (weights_[i] > 0 && weights_[i] >= params.min_p)
      candidates_.push_back({logits[i], weights_[i], static_cast<token_id>(i)});
}

void sampler::keep_top_p(float share) {
  double total = 0;
  for (const auto& x : candidates_)
    total += double{x.weight};
  auto wanted = double{share} * total;
  double sum = 0;
  size_t sorted = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i == sorted) { // the head is usually short: sort block by block
      auto begin = candidates_.begin() + static_cast<ptrdiff_t>(i);
      sorted = std::min(candidates_.size(), std::max(sorted * 8, sorted_block));
      auto end = candidates_.begin() + static_cast<ptrdiff_t>(sorted);
      if (end != candidates_.end())
        std::nth_element(begin, end, candidates_.end(), is_better);
      std::sort(begin, end, is_better);
    }
    sum += double{candidates_[i].weight};
    if (sum >= wanted) {
      candidates_.resize(i + 1);
      return;
    }
  }
}

result<double> nll(std::span<const float> logits, token_id target) {
  if (target < 0 || static_cast<size_t>(target) >= logits.size())
    return fail(ec::invalid_argument,
                "target: expected a token id below {}, found {}", logits.size(),
                target);
  auto best = argmax(logits);
  if (!best)
    return tl::unexpected(best.error());
  double largest = double{logits[static_cast<size_t>(*best)]};
  double sum = 0;
  for (auto x : logits)
    sum += std::exp(double{x} - largest);
  return std::log(sum) + largest - double{logits[static_cast<size_t>(target)]};
}

} // namespace troupe
