// schedule -> pass (experts in this process) -> sample -> postprocess.
#include "runtime/engine/local_generator.hpp"

#include "runtime/assert.hpp"

namespace troupe {

namespace {

/// Puts a step's tokens where they belong.
void collect(std::vector<generated_text>& out,
             std::span<const step_event> events) {
  for (const auto& x : events) {
    auto& text = out[x.sequence.value];
    if (!x.token_is_stop)
      text.ids.push_back(x.token);
    if (x.finished)
      text.reason = *x.finished;
  }
}

} // namespace

result<local_model> load_local_model(packed_images& images,
                                     kernels::lanes& pool) {
  auto backbone = load_backbone(images, pool);
  if (!backbone)
    return tl::unexpected{backbone.error()};
  auto experts = local_experts::load(images, pool);
  if (!experts)
    return tl::unexpected{experts.error()};
  return local_model{std::move(*backbone), std::move(*experts),
                     images.model().generation.eos_ids,
                     row_type(images.options().mode)};
}

result<local_model> load_local_model(const opened_model& model,
                                     kernels::compute_options options,
                                     kernels::lanes& pool) {
  // Borrowed: nothing that is loaded refers to it.
  const auto images = packed_images::open({model_ptr{}, &model}, options, {});
  return load_local_model(*images, pool);
}

result<pass_output> run_pass(forward_pass& pass, const batch& x,
                             const local_model& model, kernels::lanes& pool) {
  auto step = pass.start(x);
  while (auto* request = std::get_if<moe_request>(&step)) {
    auto choice = route(model.backbone->config.router, *request, pool);
    if (!choice)
      return wrap(fmt::format("layer {}", request->layer.value),
                  choice.error());
    const auto answer =
      model.experts->run(*request, std::move(*choice), model.reply, pool);
    step = pass.resume(answer);
  }
  return std::get<pass_output>(std::move(step));
}

result<std::vector<sampled_token>> sample_rows(const batch& x,
                                               const pass_output& out,
                                               const scheduler& state,
                                               sampler& chooser) {
  std::vector<sampled_token> chosen;
  for (const auto& row : x.rows) {
    if (row.output != row_output::logits)
      continue;
    const auto id = x.slots[row.slot].sequence;
    const auto* s = state.find(id);
    TROUPE_ASSERT(s != nullptr && chosen.size() < out.rows());
    const auto token = chooser.sample(out.row(chosen.size()), s->params,
                                      {0, uint64_t{row.position} + 1});
    if (!token)
      return wrap(
        fmt::format("request {}, position {}", id.value, row.position + 1),
        token.error());
    chosen.push_back({id, *token});
  }
  return chosen;
}

result<local_generator> local_generator::make(local_model model,
                                              kernels::lanes& pool,
                                              generator_options options) {
  const auto& config = model.backbone->config;
  options.cache.type = row_type(model.backbone->options.mode);
  auto cache = kv_cache::make(config, options.cache);
  if (!cache)
    return tl::unexpected{cache.error()};
  local_generator out;
  out.schedule_ = std::move(options.schedule);
  out.on_step_ = std::move(options.on_step);
  if (out.schedule_.context_tokens == 0)
    out.schedule_.context_tokens = config.max_positions;
  if (out.schedule_.vocab_size == 0)
    out.schedule_.vocab_size = config.vocab_size;
  if (out.schedule_.model_stop.empty())
    out.schedule_.model_stop = model.stop_ids;
  out.cache_ = std::make_unique<kv_cache>(std::move(*cache));
  out.pass_ = std::make_unique<forward_pass>(
    model.backbone, *out.cache_, pool,
    forward_options{out.schedule_.max_batch_rows, hidden_capture::none});
  out.model_ = std::move(model);
  out.pool_ = &pool;
  return out;
}

result<std::vector<generated_text>>
local_generator::generate(std::span<const generation_request> requests) {
  block_manager blocks{cache_->blocks(), kv_cache::block_tokens(),
                       state_slots{cache_->states().sequences()}};
  scheduler state{schedule_, blocks};
  std::vector<generated_text> out(requests.size());
  for (size_t i = 0; i < requests.size(); ++i)
    if (auto ok = state.add(sequence_id{i}, requests[i]); !ok)
      return tl::unexpected{ok.error()};
  sampler chooser;
  for (uint64_t step = 0;; ++step) {
    const auto x = state.schedule(pass_id{step});
    if (!x)
      break;
    const auto logits = run_pass(*pass_, *x, model_, *pool_);
    if (!logits)
      return tl::unexpected{logits.error()};
    const auto chosen = sample_rows(*x, *logits, state, chooser);
    if (!chosen)
      return tl::unexpected{chosen.error()};
    collect(out, state.postprocess(*x, *chosen));
    if (on_step_)
      on_step_(*x);
  }
  stats_ = state.stats();
  return out;
}

} // namespace troupe
