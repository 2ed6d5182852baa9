// The decoder, layer by layer; the mixers are in files of their own. Rounding
// happens at fixed points: what enters a linear layer is rounded to the type of
// the mode, keys and values to the cache type; the residual stream, queries,
// scores and logits are f32.
#include "runtime/engine/forward_pass.hpp"

#include "kernels/combine.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"
#include "runtime/assert.hpp"
#include "runtime/engine/gated_delta_mixer.hpp"
#include "runtime/engine/gqa_mixer.hpp"
#include "runtime/engine/mla_mixer.hpp"
#include "runtime/engine/short_conv_mixer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace troupe {

namespace {

using kernels::matrix_view;

/// Memory for the MoE inputs of two passes.
constexpr size_t request_bytes_kept = size_t{64} << 20;

/// Those that a model's layers need.
struct mixers {
  mixers(const model_config& config, mixer_options options) {
    for (const auto& layer : config.layers) {
      if (layer.mixer == mixer_kind::gqa && !gqa)
        gqa.emplace(config, options);
      else if (layer.mixer == mixer_kind::mla && !mla)
        mla.emplace(config, options);
      else if (layer.mixer == mixer_kind::short_conv && !conv)
        conv.emplace(config, options);
      else if (layer.mixer == mixer_kind::gated_delta && !delta)
        delta.emplace(config, options);
    }
  }

  void run(const layer_weights& w, const mixer_call& call, mixer_pass& pass) {
    if (const auto* x = std::get_if<gqa_weights>(&w.mixer))
      gqa->run(*x, call, pass);
    else if (const auto* y = std::get_if<mla_weights>(&w.mixer))
      mla->run(*y, call, pass);
    else if (const auto* z = std::get_if<short_conv_weights>(&w.mixer))
      conv->run(*z, call, pass);
    else
      delta->run(std::get<gated_delta_weights>(w.mixer), call, pass);
  }

  std::optional<gqa_mixer> gqa;
  std::optional<mla_mixer> mla;
  std::optional<short_conv_mixer> conv;
  std::optional<gated_delta_mixer> delta;
};

} // namespace

struct forward_pass::state {
  state(std::shared_ptr<const backbone_weights> w, kv_cache& c,
        kernels::lanes& p, forward_options o);

  void check(const batch& x) const;
  void bind(const batch& x);
  void embed(const batch& x);
  output run();
  void mix();
  void run_dense();
  moe_request ask_experts();
  std::vector<float> score_experts(matrix_view<float> exact,
                                   const hidden_rows& rounded);
  void run_shared();
  void take_experts(const moe_response& y);
  pass_output finish();
  void capture(matrix_view<const float> x);
  void norm_rows(const norm_weights& w, matrix_view<const float> x,
                 kernels::output_view y);
  void add_to_residual(matrix_view<float> x, const norm_weights& after);

  const layer_weights& here() const {
    return weights->layers[layer];
  }
  const model_config& config() const {
    return weights->config;
  }

  std::shared_ptr<const backbone_weights> weights;
  kv_cache* cache;
  kernels::lanes* pool;
  forward_options options;
  kernels::isa isa;
  kernels::norm_options norm;
  std::optional<kernels::rope_tables> rope;
  mixers mix_with;

  // Scratch of one pass, [rows_max, ...].
  f32_scratch residual; // [H]
  f32_scratch sublayer; // [H]: what is added to the residual
  f32_scratch shared;   // [H]: outputs of the shared experts
  f32_scratch angles;   // [rotary_dim]
  hidden_rows normed;   // [H], rounded
  hidden_rows scored;   // [2 rows_max, H]: the router's rows, rounded
  row_pool requests{request_bytes_kept};

  // The pass under way.
  pass_id pass;
  size_t rows = 0;
  uint32_t layer = 0;
  bool waiting = false;
  hidden_ptr asked;         // input of the experts that are waited for
  bool shared_done = false; // `shared` holds this layer's outputs
  pass_rows bound;
  std::vector<std::vector<float>> hidden;
};

forward_pass::state::state(std::shared_ptr<const backbone_weights> w,
                           kv_cache& c, kernels::lanes& p, forward_options o)
  : weights(std::move(w)), cache(&c), pool(&p), options(o),
    isa(weights->options.isa), norm{static_cast<float>(config().norm.eps), isa},
    mix_with(config(), {weights->options, o.rows_max}),
    residual(o.rows_max, config().hidden_size),
    sublayer(o.rows_max, config().hidden_size),
    shared(config().ffn.shared_size > 0 ? o.rows_max : 0, config().hidden_size),
    angles(o.rows_max, config().attention.rope.rotary_dim),
    normed(o.rows_max, config().hidden_size, row_type(weights->options.mode)),
    scored(2 * o.rows_max, config().hidden_size,
           row_type(weights->options.mode)) {
  TROUPE_ASSERT(o.rows_max > 0);
  const auto& x = config().attention.rope;
  if (x.rotary_dim > 0)
    rope = kernels::make_rope_tables(x.theta, x.rotary_dim, x.scaling);
}

void forward_pass::state::check(const batch& x) const {
  TROUPE_ASSERT(!x.rows.empty() && x.rows.size() <= options.rows_max);
  for (const auto& row : x.rows) {
    TROUPE_ASSERT(row.token >= 0 &&
                  static_cast<uint32_t>(row.token) < config().vocab_size);
    TROUPE_ASSERT(row.slot < x.slots.size());
    TROUPE_ASSERT(row.position / kv_cache::block_tokens() <
                  x.slots[row.slot].blocks.size());
  }
}

/// Finds every row's blocks, state and angles, once for all layers.
void forward_pass::state::bind(const batch& x) {
  bound.bind(x, *cache);
  if (rope)
    kernels::rope_angles(*rope, bound.turned(config().attention.rope.scaling),
                         angles.rows(rows));
}

void forward_pass::state::embed(const batch& x) {
  const auto& table = weights->embedding;
  const auto out = residual.rows(rows);
  for (size_t r = 0; r < rows; ++r) {
    const auto* from = table.row(static_cast<size_t>(x.rows[r].token));
    if (table.type == kernels::dtype::f32) {
      std::memcpy(out.row(r), from, table.cols * sizeof(float));
      continue;
    }
    const auto* values = reinterpret_cast<const kernels::bf16*>(from);
    std::transform(values, values + table.cols, out.row(r), kernels::to_float);
  }
  if (config().embedding_multiplier != 1)
    kernels::scale_rows(
      isa, out, static_cast<float>(config().embedding_multiplier), *pool);
}

forward_pass::output forward_pass::state::run() {
  for (; layer < weights->layers.size(); ++layer) {
    capture(residual.rows(rows));
    mix();
    if (!here().dense)
      return ask_experts();
    run_dense();
  }
  return finish();
}

void forward_pass::state::norm_rows(const norm_weights& w,
                                    matrix_view<const float> x,
                                    kernels::output_view y) {
  if (config().norm.kind == norm_kind::layer)
    kernels::layer_norm(norm, x, {w.weight, w.bias}, y, *pool);
  else
    kernels::rms_norm(norm, x, w.weight, y, *pool);
}

/// residual += multiplier * norm(x)
void forward_pass::state::add_to_residual(matrix_view<float> x,
                                          const norm_weights& after) {
  if (!after.empty())
    norm_rows(after, x, as_output(x));
  const auto out = residual.rows(rows);
  if (config().residual_multiplier == 1)
    kernels::add_rows(isa, out, as_activation(x), *pool);
  else
    kernels::add_scaled_rows(
      isa, out,
      {as_activation(x), static_cast<float>(config().residual_multiplier)},
      *pool);
}

/// residual += mixer(norm(residual))
void forward_pass::state::mix() {
  norm_rows(here().mixer_norm, residual.rows(rows), first_rows(normed, rows));
  const auto out = sublayer.rows(rows);
  mixer_pass shared_by_all{bound, *cache, angles.rows(rows), *pool};
  mix_with.run(
    here(), {config().layers[layer], layer, first_rows_of(normed, rows), out},
    shared_by_all);
  add_to_residual(out, here().after_mixer);
}

/// residual += ffn(norm(residual))
void forward_pass::state::run_dense() {
  norm_rows(here().ffn_norm, residual.rows(rows), first_rows(normed, rows));
  const auto out = sublayer.rows(rows);
  kernels::dense_ffn(*here().dense, first_rows_of(normed, rows), as_output(out),
                     *pool);
  add_to_residual(out, here().after_ffn);
}

moe_request forward_pass::state::ask_experts() {
  const auto exact = sublayer.rows(rows);
  norm_rows(here().ffn_norm, residual.rows(rows), as_output(exact));
  auto input = requests.take(rows, config().hidden_size, normed.type);
  kernels::convert_rows(isa, as_activation(exact), input->output(), *pool);
  moe_request out;
  out.pass = pass;
  out.layer = layer_index{layer};
  out.router_logits = score_experts(exact, *input);
  if (!here().selection_bias.empty())
    out.selection_bias = {weights, &here().selection_bias};
  asked = std::move(input);
  out.rows = asked;
  waiting = true;
  shared_done = false;
  return out;
}

/// The router decides between near equals: what the experts' rows lose by
/// rounding is scored too, as rows of its own. Changes `exact`.
std::vector<float>
forward_pass::state::score_experts(matrix_view<float> exact,
                                   const hidden_rows& rounded) {
  const auto& router = here().router;
  const size_t experts = router.outputs();
  const bool lossless = rounded.type == kernels::dtype::f32;
  std::vector<float> out((lossless ? rows : 2 * rows) * experts);
  const matrix_view<float> all{out.data(), out.size() / experts, experts,
                               experts};
  const auto logits = rows_of(all, 0, rows);
  if (lossless) {
    kernels::matmul(router, rounded.view(), logits, *pool);
  } else {
    kernels::add_scaled_rows(isa, exact, {rounded.view(), -1.0F}, *pool);
    std::memcpy(scored.row(0), rounded.row(0), rows * rounded.row_bytes());
    kernels::convert_rows(
      isa, as_activation(exact),
      {scored.row(rows), scored.type, rows, scored.cols, scored.cols}, *pool);
    kernels::matmul(router, first_rows_of(scored, 2 * rows), all, *pool);
    kernels::add_rows(isa, logits, as_activation(rows_of(all, rows, rows)),
                      *pool);
  }
  kernels::add_bias(isa, logits, here().router_bias, *pool);
  out.resize(rows * experts);
  return out;
}

/// shared = the shared experts' outputs, times their gate.
void forward_pass::state::run_shared() {
  if (shared_done || !here().shared)
    return;
  kernels::dense_ffn(*here().shared, asked->view(),
                     as_output(shared.rows(rows)), *pool);
  shared_done = true;
}

/// residual += routed experts + shared experts, in this order: the routed ones
/// are summed first, and one addition follows.
void forward_pass::state::take_experts(const moe_response& y) {
  const size_t k = y.top_k;
  const matrix_view<const float> by{y.weights.data(), rows, k, k};
  const bool alone = !here().shared && here().after_ffn.empty() &&
                     config().residual_multiplier == 1;
  if (alone) {
    kernels::combine({kernels::combine_into::add, isa}, y.pairs, y.type, by,
                     residual.rows(rows), *pool);
    return;
  }
  const auto out = sublayer.rows(rows);
  kernels::combine({kernels::combine_into::overwrite, isa}, y.pairs, y.type, by,
                   out, *pool);
  run_shared();
  if (here().shared && here().shared_gate.empty()) {
    kernels::add_rows(isa, out, as_activation(shared.rows(rows)), *pool);
  } else if (here().shared) {
    std::vector<float> gates(rows);
    kernels::matmul(here().shared_gate, asked->view(),
                    {gates.data(), rows, 1, 1}, *pool);
    kernels::add_gated_rows(
      isa, out, {as_activation(shared.rows(rows)), {gates.data(), rows, 1, 1}},
      *pool);
  }
  add_to_residual(out, here().after_ffn);
}

pass_output forward_pass::state::finish() {
  bound.end(*cache);
  if (options.capture == hidden_capture::all) {
    const auto out = sublayer.rows(rows);
    norm_rows(weights->final_norm, residual.rows(rows), as_output(out));
    capture(out);
  }
  pass_output out;
  out.pass = pass;
  out.vocab = config().vocab_size;
  out.hidden = std::move(hidden);
  const auto& wanted = bound.wanted();
  if (wanted.empty())
    return out;
  // Only the wanted rows pay for the head: they move to the front, in order.
  const auto all = residual.rows(rows);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != i)
      std::copy_n(all.row(wanted[i]), all.cols, all.row(i));
  const auto n = wanted.size();
  norm_rows(weights->final_norm, residual.rows(n), first_rows(normed, n));
  out.logits.resize(n * out.vocab);
  const matrix_view<float> logits{out.logits.data(), n, out.vocab, out.vocab};
  kernels::matmul(weights->head, first_rows_of(normed, n), logits, *pool);
  kernels::add_bias(isa, logits, weights->head_bias, *pool);
  if (config().logits_divisor != 1)
    kernels::scale_rows(
      isa, logits, static_cast<float>(1.0 / config().logits_divisor), *pool);
  return out;
}

void forward_pass::state::capture(matrix_view<const float> x) {
  if (options.capture == hidden_capture::all)
    hidden.emplace_back(x.data, x.data + x.rows * x.cols);
}

forward_pass::forward_pass(std::shared_ptr<const backbone_weights> weights,
                           kv_cache& cache, kernels::lanes& pool,
                           forward_options options)
  : state_(std::make_unique<state>(std::move(weights), cache, pool, options)) {
  // nop
}

forward_pass::forward_pass(forward_pass&&) noexcept = default;

forward_pass& forward_pass::operator=(forward_pass&&) noexcept = default;

forward_pass::~forward_pass() = default;

forward_pass::output forward_pass::start(const batch& x) {
  const kernels::flush_denormals_scope flush;
  auto& s = *state_;
  s.check(x);
  s.pass = x.pass;
  s.rows = x.rows.size();
  s.layer = 0;
  s.waiting = false;
  s.hidden.clear();
  s.bind(x);
  s.embed(x);
  return s.run();
}

void forward_pass::run_ahead() {
  const kernels::flush_denormals_scope flush;
  TROUPE_ASSERT(state_->waiting);
  state_->run_shared();
}

forward_pass::output forward_pass::resume(const moe_response& y) {
  const kernels::flush_denormals_scope flush;
  auto& s = *state_;
  TROUPE_ASSERT(s.waiting && y.pass == s.pass && y.layer.value == s.layer);
  TROUPE_ASSERT(y.pairs.size() == s.rows * y.top_k &&
                y.weights.size() == y.pairs.size());
  s.waiting = false;
  s.take_experts(y);
  s.asked.reset();
  ++s.layer;
  return s.run();
}

bool forward_pass::waiting() const noexcept {
  return state_->waiting;
}

} // namespace troupe
