// The sum runs in double, in order of the tokens.
#include "runtime/engine/perplexity.hpp"

#include "runtime/engine/sequence_pass.hpp"

#include <algorithm>

namespace troupe {

namespace {

/// Adds up one block; the logits of row p score token p + 1.
result<void> score_block(std::span<const token_id> ids,
                         const local_model& model, kernels::lanes& pool,
                         perplexity_report& sum) {
  std::optional<error> failure;
  auto ok = run_sequence(
    ids, model, pool, {}, [&](uint32_t first, const pass_output& out) {
      for (size_t i = 0; i < out.rows() && first + i + 1 < ids.size(); ++i) {
        const auto x = nll(out.row(i), ids[first + i + 1]);
        if (!x) {
          failure = x.error();
          return false;
        }
        sum.nll += *x;
        ++sum.tokens;
      }
      return true;
    });
  if (ok && failure)
    return tl::unexpected{*failure};
  return ok;
}

} // namespace

result<perplexity_report> measure_perplexity(std::span<const token_id> ids,
                                             const local_model& model,
                                             perplexity_options options,
                                             kernels::lanes& pool) {
  const auto context_max = model.backbone->config.max_positions;
  if (options.context < 2 || options.context > context_max)
    return fail(ec::invalid_argument,
                "perplexity: expected a context of 2 to {} tokens, found {}",
                context_max, options.context);
  if (ids.size() < 2)
    return fail(ec::invalid_argument,
                "perplexity: the text has {} tokens, at least 2 are needed",
                ids.size());
  perplexity_report out;
  uint32_t blocks = 0;
  for (size_t at = 0; at + 1 < ids.size(); at += options.context) {
    if (options.blocks_max != 0 && blocks == options.blocks_max)
      break;
    const auto count = std::min<size_t>(options.context, ids.size() - at);
    if (auto ok = score_block(ids.subspan(at, count), model, pool, out); !ok)
      return tl::unexpected{ok.error()};
    ++blocks;
    if (options.progress)
      options.progress(at + count, ids.size());
  }
  out.nll /= static_cast<double>(out.tokens);
  return out;
}

} // namespace troupe
