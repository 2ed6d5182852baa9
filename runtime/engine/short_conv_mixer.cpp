#include "runtime/engine/short_conv_mixer.hpp"

#include "kernels/elementwise.hpp"
#include "kernels/short_conv.hpp"
#include "runtime/engine/moe_exchange.hpp"
#include "runtime/engine/state_runs.hpp"

namespace troupe {

short_conv_mixer::short_conv_mixer(const model_config& config,
                                   mixer_options options)
  : hidden_(config.hidden_size), config_(config.short_conv), options_(options),
    parts_(options.rows_max, 3 * hidden_), mixed_(options.rows_max, hidden_),
    round_(options.rows_max, hidden_, row_type(options.compute.mode)) {
  // nop
}

void short_conv_mixer::run(const short_conv_weights& w, const mixer_call& call,
                           mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  const auto parts = parts_.rows(n);
  const auto mixed = mixed_.rows(n);
  const auto before = columns(parts, 0, hidden_);
  const auto after = columns(parts, hidden_, hidden_);
  const auto input = columns(parts, 2 * hidden_, hidden_);
  kernels::matmul(w.in, call.input, parts, pass.pool);
  kernels::add_bias(isa, parts, w.in_bias, pass.pool);
  kernels::multiply_rows(isa, input, as_activation(before), pass.pool);
  kernels::short_conv_options conv;
  conv.taps = {w.kernel.data(), config_.kernel, hidden_, hidden_};
  conv.bias = w.kernel_bias;
  conv.isa = isa;
  kernels::short_conv(conv, input,
                      state_runs(pass, call.layer, &layer_state::inputs), mixed,
                      pass.pool);
  kernels::multiply_rows(isa, mixed, as_activation(after), pass.pool);
  kernels::convert_rows(isa, as_activation(mixed), first_rows(round_, n),
                        pass.pool);
  kernels::matmul(w.out, first_rows_of(round_, n), call.out, pass.pool);
  kernels::add_bias(isa, call.out, w.out_bias, pass.pool);
}

} // namespace troupe
