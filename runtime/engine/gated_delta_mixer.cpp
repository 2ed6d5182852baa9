#include "runtime/engine/gated_delta_mixer.hpp"

#include "kernels/gated_delta.hpp"
#include "kernels/short_conv.hpp"
#include "runtime/engine/moe_exchange.hpp"
#include "runtime/engine/state_runs.hpp"

namespace troupe {

gated_delta_mixer::gated_delta_mixer(const model_config& config,
                                     mixer_options options)
  : config_(config.gated_delta),
    options_(options), norm_{static_cast<float>(config.norm.eps),
                             options.compute.isa},
    qkvz_(options.rows_max, config_.conv_size() + config_.value_size()),
    ba_(options.rows_max, size_t{2} * config_.value_heads),
    mixed_(options.rows_max, config_.conv_size()),
    read_(options.rows_max, config_.value_size()),
    round_(options.rows_max, config_.value_size(),
           row_type(options.compute.mode)) {
  // nop
}

void gated_delta_mixer::run(const gated_delta_weights& w,
                            const mixer_call& call, mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  const size_t channels = config_.conv_size();
  const size_t keys = config_.key_size();
  const size_t values = config_.value_size();
  const auto qkvz = qkvz_.rows(n);
  const auto ba = ba_.rows(n);
  const auto mixed = mixed_.rows(n);
  const auto read = read_.rows(n);
  const kernels::packed_weight* const weights[] = {&w.qkvz, &w.ba};
  const kernels::matrix_view<float> outs[] = {qkvz, ba};
  kernels::matmul(weights, call.input, outs, pass.pool);

  kernels::short_conv_options conv;
  conv.taps = {w.kernel.data(), config_.kernel, channels, channels};
  conv.activation = kernels::conv_activation::silu;
  conv.isa = isa;
  kernels::short_conv(conv, columns(qkvz, 0, channels),
                      state_runs(pass, call.layer, &layer_state::inputs), mixed,
                      pass.pool);

  kernels::gated_delta_options rule;
  rule.key_heads = config_.key_heads;
  rule.value_heads = config_.value_heads;
  rule.key_dim = config_.key_dim;
  rule.value_dim = config_.value_dim;
  rule.a_log = w.a_log;
  rule.dt_bias = w.dt_bias;
  rule.isa = isa;
  const size_t heads = config_.value_heads;
  kernels::gated_delta(rule,
                       {columns(mixed, 0, keys), columns(mixed, keys, keys),
                        columns(mixed, 2 * keys, values),
                        columns(ba, heads, heads), columns(ba, 0, heads)},
                       state_runs(pass, call.layer, &layer_state::matrices),
                       read, pass.pool);

  kernels::rms_norm_gated(norm_, {read, columns(qkvz, channels, values)},
                          w.norm, first_rows(round_, n), pass.pool);
  kernels::matmul(w.out, first_rows_of(round_, n), call.out, pass.pool);
}

} // namespace troupe
