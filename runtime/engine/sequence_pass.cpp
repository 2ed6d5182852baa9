// One slot that owns every block of a cache made to measure.
#include "runtime/engine/sequence_pass.hpp"

#include <algorithm>
#include <numeric>

namespace troupe {

namespace {

result<void> check(std::span<const token_id> ids, const model_config& config) {
  if (ids.empty())
    return fail(ec::invalid_argument, "expected at least one token id");
  if (ids.size() > config.max_positions)
    return fail(ec::invalid_argument,
                "{} tokens are longer than the model's context of {}",
                ids.size(), config.max_positions);
  for (auto x : ids)
    if (x < 0 || static_cast<uint32_t>(x) >= config.vocab_size)
      return fail(ec::invalid_argument,
                  "token id {} is not in the vocabulary, expected 0 to {}", x,
                  config.vocab_size - 1);
  return {};
}

batch chunk_of(std::span<const token_id> ids, uint32_t first, uint32_t count,
               const std::vector<uint32_t>& blocks) {
  batch out{pass_id{first},
            {{sequence_id{0}, slot_phase::prefill, count, blocks,
              static_cast<uint32_t>(ids.size()), 0U}},
            {}};
  for (uint32_t p = first; p < first + count; ++p)
    out.rows.push_back({ids[p], p, 0, row_output::logits});
  return out;
}

} // namespace

result<void> run_sequence(std::span<const token_id> ids,
                          const local_model& model, kernels::lanes& pool,
                          sequence_pass_options options,
                          const chunk_sink& sink) {
  const auto& config = model.backbone->config;
  if (auto ok = check(ids, config); !ok)
    return ok;
  const auto type = row_type(model.backbone->options.mode);
  auto cache =
    kv_cache::make(config, {kv_cache::bytes_for(config, type, ids.size()),
                            ids.size(), type, 1});
  if (!cache)
    return tl::unexpected{cache.error()};
  std::vector<uint32_t> blocks(cache->blocks());
  std::iota(blocks.begin(), blocks.end(), 0U);
  const auto total = static_cast<uint32_t>(ids.size());
  const auto chunk = std::clamp(options.chunk, 1U, total);
  forward_pass pass{model.backbone, *cache, pool, {chunk, options.capture}};
  for (uint32_t first = 0; first < total; first += chunk) {
    const auto count = std::min(chunk, total - first);
    const auto out =
      run_pass(pass, chunk_of(ids, first, count, blocks), model, pool);
    if (!out)
      return tl::unexpected{out.error()};
    if (!sink(first, *out))
      break;
  }
  return {};
}

result<sequence_output> evaluate_sequence(std::span<const token_id> ids,
                                          const local_model& model,
                                          kernels::lanes& pool,
                                          sequence_pass_options options) {
  sequence_output out;
  const auto append = [](std::vector<float>& to, const std::vector<float>& x) {
    to.insert(to.end(), x.begin(), x.end());
  };
  auto ok = run_sequence(ids, model, pool, options,
                         [&](uint32_t, const pass_output& x) {
                           out.vocab = x.vocab;
                           append(out.logits, x.logits);
                           out.hidden.resize(x.hidden.size());
                           for (size_t i = 0; i < x.hidden.size(); ++i)
                             append(out.hidden[i], x.hidden[i]);
                           return true;
                         });
  if (!ok)
    return tl::unexpected{ok.error()};
  return out;
}

} // namespace troupe
