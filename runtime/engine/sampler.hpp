// Chooses the next token from one row of logits. The choice is a function of
// the row, the parameters and the key alone: no state, no library
// distribution, every sum in one fixed order, ties by the lower token id. So
// it does not depend on batch, machine or placement.
//
// Order of the filters: probabilities are exp((logit - best) / temperature);
// `min_p` drops what is below min_p times the best, `top_k` keeps the best k,
// `top_p` keeps the shortest head of the remaining whose share reaches top_p.
#pragma once

#include "runtime/engine/sampling_params.hpp"
#include "runtime/error.hpp"
#include "runtime/ids.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Philox4x32-10, the counter-based generator of J. Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3" (2011): 128 random bits per counter.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// Which random number a draw uses, together with the request's seed.
struct draw_key {
  uint32_t choice = 0;   ///< Index of the completion of one prompt ("n").
  uint64_t position = 0; ///< Position of the new token in its sequence.
};

/// Returns the number in [0, 1) of `seed` and `key`; 53 random bits.
double uniform_draw(uint64_t seed, draw_key key);

/// Returns the index of the largest logit, the lower one of equals.
/// Fails with `not_finite` on NaN, +inf or when all are -inf.
result<token_id> argmax(std::span<const float> logits);

/// Samples tokens. Holds only scratch memory: one per thread.
class sampler {
public:
  /// Returns the token for `logits` [vocab]. -inf means "never this token".
  /// Fails with `not_finite` like `argmax`.
  /// @pre `validate(params)` and `logits` is not empty.
  result<token_id> sample(std::span<const float> logits,
                          const sampling_params& params, draw_key key);

private:
  struct candidate {
    float logit;
    float weight; // exp((logit - best) / temperature)
    token_id id;
  };

  void collect_best(std::span<const float> logits, float best,
                    const sampling_params& params);
  void collect_all(std::span<const float> logits, float best,
                   const sampling_params& params);
  void keep_top_p(float share);

  std::vector<float> weights_; // [vocab]
  std::vector<candidate> candidates_;
};

/// Returns -log softmax(logits)[target] in nats, in double. For reports: the
/// last bits may differ between machines. Fails with `not_finite`, or with
/// `invalid_argument` if `target` is no column.
result<double> nll(std::span<const float> logits, token_id target);

} // namespace troupe
