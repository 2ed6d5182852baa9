// Queries stay f32 from the projection to the scores; keys and values are
// rounded when they are stored.
#include "runtime/engine/gqa_mixer.hpp"

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/math.hpp"
#include "kernels/rope.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <cmath>

namespace troupe {

namespace {

using kernels::matrix_view;

} // namespace

gqa_mixer::gqa_mixer(const model_config& config, mixer_options options)
  : config_(config.attention),
    options_(options), norm_{static_cast<float>(config.norm.eps),
                             options.compute.isa},
    q_(options.rows_max, config_.q_size()),
    k_(options.rows_max, config_.kv_size()),
    v_(options.rows_max, config_.kv_size()),
    attended_(options.rows_max, config_.q_size(),
              row_type(options.compute.mode)) {
  if (config_.gate != output_gate::none) {
    gate_ = {options.rows_max, config_.q_size()};
    open_ = {options.rows_max, config_.q_size()};
  }
  const auto& norm = config_.qk_norm;
  if (norm.kind != qk_norm_kind::none && !norm.weighted)
    ones_.assign(norm.kind == qk_norm_kind::whole ? config_.q_size()
                                                  : config_.head_dim,
                 1.0F);
}

void gqa_mixer::run(const gqa_weights& w, const mixer_call& call,
                    mixer_pass& pass) {
  const auto place = config_.qk_norm.place;
  project(w, call, pass);
  if (place == qk_norm_place::before_rope)
    norm(w, call, pass);
  turn(call, pass);
  if (place == qk_norm_place::after_rope)
    norm(w, call, pass);
  if (call.recipe.temperature)
    warm(pass);
  attend(w, call, pass);
  kernels::matmul(w.o, first_rows_of(attended_, pass.rows.count()), call.out,
                  pass.pool);
  kernels::add_bias(options_.compute.isa, call.out, w.o_bias, pass.pool);
}

void gqa_mixer::project(const gqa_weights& w, const mixer_call& call,
                        mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  const bool gated = config_.gate != output_gate::none;
  const kernels::packed_weight* const weights[] = {&w.q, &w.k, &w.v, &w.gate};
  const matrix_view<float> outs[] = {q_.rows(n), k_.rows(n), v_.rows(n),
                                     gate_.rows(n)};
  const size_t used = gated ? 4 : 3;
  kernels::matmul(std::span{weights}.first(used), call.input,
                  std::span{outs}.first(used), pass.pool);
  kernels::add_bias(isa, outs[0], w.q_bias, pass.pool);
  kernels::add_bias(isa, outs[1], w.k_bias, pass.pool);
  kernels::add_bias(isa, outs[2], w.v_bias, pass.pool);
}

void gqa_mixer::norm(const gqa_weights& w, const mixer_call& call,
                     mixer_pass& pass) {
  const auto& x = config_.qk_norm;
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  const auto apply = [&](matrix_view<float> rows,
                         const std::vector<float>& weight) {
    const std::span<const float> by =
      x.weighted ? std::span<const float>{weight} : std::span{ones_};
    if (x.kind == qk_norm_kind::whole)
      kernels::rms_norm(norm_, rows, by.first(rows.cols), as_output(rows),
                        pass.pool);
    else
      kernels::rms_norm_heads(norm_, rows, by, as_output(rows), pass.pool);
  };
  if (x.kind != qk_norm_kind::none &&
      (call.recipe.rope || !x.rope_layers_only)) {
    apply(q_.rows(n), w.q_norm);
    apply(k_.rows(n), w.k_norm);
  }
  if (config_.clip_qkv > 0 && x.place == qk_norm_place::before_rope) {
    const auto limit = static_cast<float>(config_.clip_qkv);
    for (auto* rows : {&q_, &k_, &v_})
      kernels::clip_rows(isa, rows->rows(n), limit, pass.pool);
  }
}

void gqa_mixer::turn(const mixer_call& call, mixer_pass& pass) {
  if (!call.recipe.rope)
    return;
  const auto n = pass.rows.count();
  const kernels::rope_options rope{config_.head_dim, config_.rope.rotary_dim,
                                   config_.rope.pairs, options_.compute.isa};
  kernels::apply_rope(rope, pass.angles, q_.rows(n), pass.pool);
  kernels::apply_rope(rope, pass.angles, k_.rows(n), pass.pool);
}

/// Queries of far positions ask louder (model_config.hpp has the formula).
void gqa_mixer::warm(mixer_pass& pass) {
  const auto rows = q_.rows(pass.rows.count());
  for (size_t r = 0; r < rows.rows; ++r) {
    const double steps =
      std::floor((pass.rows.position(r) + 1.0) / config_.temperature_floor);
    const auto factor = static_cast<float>(
      1.0 + config_.temperature_scale * kernels::log_f64(1.0 + steps));
    for (size_t i = 0; i < rows.cols; ++i)
      rows.row(r)[i] *= factor;
  }
}

void gqa_mixer::attend(const gqa_weights& w, const mixer_call& call,
                       mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  const auto cached = pass.rows.cached(pass.cache, call.layer);
  kernels::store_kv(pass.cache.layout(), cached, k_.rows(n), v_.rows(n),
                    pass.pool);
  kernels::attention_options options;
  options.layout = pass.cache.layout();
  options.heads = config_.heads;
  options.scale = static_cast<float>(config_.scale);
  options.isa = isa;
  options.window = call.recipe.window;
  options.chunk = call.recipe.chunk;
  options.sinks = w.sinks;
  const auto out = first_rows(attended_, n);
  if (config_.gate == output_gate::none) {
    kernels::attention(options, cached, q_.rows(n), out, pass.pool);
    return;
  }
  const auto open = open_.rows(n);
  kernels::attention(options, cached, q_.rows(n), as_output(open), pass.pool);
  kernels::gate_rows(isa, open, as_activation(gate_.rows(n)), pass.pool);
  kernels::convert_rows(isa, as_activation(open), out, pass.pool);
}

} // namespace troupe
