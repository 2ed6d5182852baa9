// Rounded to the compute type: the query latent, queries before they are taken
// to the latent, attention's result, and the values. The rope parts stay f32;
// the stored vector is rounded to the cache type.
#include "runtime/engine/mla_mixer.hpp"

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/rope.hpp"
#include "runtime/engine/moe_exchange.hpp"

#include <algorithm>

namespace troupe {

namespace {

using kernels::matrix_view;

/// Copies `count` columns of each head: head h of `from` starts at column h *
/// from_stride.
struct head_columns {
  size_t heads = 0;
  size_t count = 0;
  size_t from_first = 0;
  size_t from_stride = 0;
  size_t to_first = 0;
  size_t to_stride = 0;
};

void copy_heads(const head_columns& x, matrix_view<const float> from,
                matrix_view<float> to) {
  for (size_t r = 0; r < from.rows; ++r)
    for (size_t h = 0; h < x.heads; ++h)
      std::copy_n(from.row(r) + h * x.from_stride + x.from_first, x.count,
                  to.row(r) + h * x.to_stride + x.to_first);
}

} // namespace

mla_mixer::mla_mixer(const model_config& config, mixer_options options)
  : attention_(config.attention), config_(config.mla),
    options_(options), norm_{static_cast<float>(config.mla.norm_eps),
                             options.compute.isa} {
  const auto n = options.rows_max;
  const auto type = row_type(options.compute.mode);
  const size_t heads = attention_.heads;
  const size_t stored = config_.kv_lora_rank + config_.rope_dim;
  if (config_.q_lora_rank > 0) {
    q_latent_ = {n, config_.q_lora_rank};
    q_latent_round_ = {n, config_.q_lora_rank, type};
  }
  q_ = {n, heads * config_.query_dim()};
  q_round_ = {n, heads * config_.query_dim(), type};
  q_rope_ = {n, heads * config_.rope_dim};
  absorbed_ = {n, heads * stored};
  key_ = {n, stored};
  k_rope_ = {n, config_.rope_dim};
  latent_ = {n, heads * config_.kv_lora_rank, type};
  value_ = {n, heads * config_.value_dim};
  value_round_ = {n, heads * config_.value_dim, type};
}

void mla_mixer::run(const mla_weights& w, const mixer_call& call,
                    mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto isa = options_.compute.isa;
  make_queries(w, call, pass);
  absorb(w, call, pass);
  make_keys(w, call, pass);
  attend(call, pass);
  const size_t rank = config_.kv_lora_rank;
  const size_t width = config_.value_dim;
  for (size_t h = 0; h < attention_.heads; ++h)
    kernels::matmul(w.value_up[h],
                    columns(first_rows_of(latent_, n), h * rank, rank),
                    columns(value_.rows(n), h * width, width), pass.pool);
  kernels::convert_rows(isa, as_activation(value_.rows(n)),
                        first_rows(value_round_, n), pass.pool);
  kernels::matmul(w.o, first_rows_of(value_round_, n), call.out, pass.pool);
  kernels::add_bias(isa, call.out, w.o_bias, pass.pool);
}

void mla_mixer::make_queries(const mla_weights& w, const mixer_call& call,
                             mixer_pass& pass) {
  const auto n = pass.rows.count();
  if (config_.q_lora_rank == 0) {
    kernels::matmul(w.q, call.input, q_.rows(n), pass.pool);
    return;
  }
  const auto latent = q_latent_.rows(n);
  kernels::matmul(w.q_a, call.input, latent, pass.pool);
  kernels::add_bias(options_.compute.isa, latent, w.q_a_bias, pass.pool);
  kernels::rms_norm(norm_, latent, w.q_a_norm.weight,
                    first_rows(q_latent_round_, n), pass.pool);
  kernels::matmul(w.q_b, first_rows_of(q_latent_round_, n), q_.rows(n),
                  pass.pool);
}

/// Fills the absorbed queries, part by part.
void mla_mixer::absorb(const mla_weights& w, const mixer_call& call,
                       mixer_pass& pass) {
  const auto n = pass.rows.count();
  const size_t heads = attention_.heads;
  const size_t query = config_.query_dim();
  const size_t nope = config_.nope_dim;
  const size_t rope = config_.rope_dim;
  const size_t rank = config_.kv_lora_rank;
  const auto q = q_.rows(n);
  const auto absorbed = absorbed_.rows(n);
  kernels::convert_rows(options_.compute.isa, as_activation(q),
                        first_rows(q_round_, n), pass.pool);
  for (size_t h = 0; h < heads; ++h)
    kernels::matmul(w.key_up[h],
                    columns(first_rows_of(q_round_, n), h * query, nope),
                    columns(absorbed, h * (rank + rope), rank), pass.pool);
  copy_heads({heads, rope, nope, query, 0, rope}, q, q_rope_.rows(n));
  if (call.recipe.rope)
    turn(q_rope_, pass);
  copy_heads({heads, rope, 0, rope, rank, rank + rope}, q_rope_.rows(n),
             absorbed);
}

void mla_mixer::make_keys(const mla_weights& w, const mixer_call& call,
                          mixer_pass& pass) {
  const auto n = pass.rows.count();
  const size_t rank = config_.kv_lora_rank;
  const size_t rope = config_.rope_dim;
  const auto key = key_.rows(n);
  kernels::matmul(w.kv_a, call.input, key, pass.pool);
  kernels::add_bias(options_.compute.isa, key, w.kv_a_bias, pass.pool);
  const auto latent = columns(key, 0, rank);
  kernels::rms_norm(norm_, latent, w.kv_a_norm.weight, as_output(latent),
                    pass.pool);
  if (!call.recipe.rope)
    return;
  copy_heads({1, rope, rank, 0, 0, 0}, key, k_rope_.rows(n));
  turn(k_rope_, pass);
  copy_heads({1, rope, 0, 0, rank, 0}, k_rope_.rows(n), key);
}

void mla_mixer::attend(const mixer_call& call, mixer_pass& pass) {
  const auto n = pass.rows.count();
  const auto cached = pass.rows.cached(pass.cache, call.layer);
  kernels::store_kv(pass.cache.layout(), cached, key_.rows(n), {}, pass.pool);
  kernels::attention_options options;
  options.layout = pass.cache.layout();
  options.heads = attention_.heads;
  options.scale = static_cast<float>(attention_.scale);
  options.isa = options_.compute.isa;
  options.window = call.recipe.window;
  options.chunk = call.recipe.chunk;
  kernels::attention(options, cached, absorbed_.rows(n), first_rows(latent_, n),
                     pass.pool);
}

void mla_mixer::turn(f32_scratch& x, mixer_pass& pass) {
  const kernels::rope_options rope{config_.rope_dim, attention_.rope.rotary_dim,
                                   attention_.rope.pairs, options_.compute.isa};
  kernels::apply_rope(rope, pass.angles, x.rows(pass.rows.count()), pass.pool);
}

} // namespace troupe
