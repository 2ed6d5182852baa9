// The decoder, layer by layer. Rounding happens at fixed points: what enters a
// linear layer is rounded to the type of the mode, keys and values to the cache
// type; the residual stream, queries, scores and logits are f32.
#include "runtime/engine/forward_pass.hpp"

#include "kernels/attention.hpp"
#include "kernels/combine.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"
#include "kernels/rope.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {

namespace {

using kernels::activation_view;
using kernels::matrix_view;
using kernels::output_view;

/// Adds `bias` (if there is one) to every row.
void add_bias(matrix_view<float> x, const std::vector<float>& bias) {
  for (size_t r = 0; r < x.rows && !bias.empty(); ++r)
    for (size_t i = 0; i < x.cols; ++i)
      x.row(r)[i] += bias[i];
}

/// Scratch memory of [rows_max, cols] in f32, viewed as so many rows.
class f32_scratch {
public:
  f32_scratch(size_t rows_max, size_t cols)
    : cols_(cols), memory_(rows_max * cols * sizeof(float)) {
    // nop
  }

  matrix_view<float> rows(size_t n) {
    return {memory_.as<float>().data(), n, cols_, cols_};
  }

private:
  size_t cols_;
  kernels::aligned_buffer memory_;
};

activation_view as_activation(matrix_view<float> x) {
  return {x.data, kernels::dtype::f32, x.rows, x.cols, x.stride};
}

output_view as_output(matrix_view<float> x) {
  return {x.data, kernels::dtype::f32, x.rows, x.cols, x.stride};
}

output_view first_rows(hidden_rows& x, size_t n) {
  return {x.memory.data(), x.type, n, x.cols, x.cols};
}

activation_view first_rows_of(const hidden_rows& x, size_t n) {
  return {x.memory.data(), x.type, n, x.cols, x.cols};
}

/// Memory for the MoE inputs of two passes.
constexpr size_t request_bytes_kept = size_t{64} << 20;

} // namespace

struct forward_pass::state {
  state(std::shared_ptr<const backbone_weights> w, kv_cache& c,
        kernels::lanes& p, forward_options o);

  void check(const batch& x) const;
  void bind_cache(const batch& x);
  void embed(const batch& x);
  output run();
  void attend();
  void project();
  void run_dense();
  moe_request ask_experts();
  pass_output finish();
  void capture(matrix_view<const float> x);
  const layer_weights& here() const {
    return weights->layers[layer];
  }

  std::shared_ptr<const backbone_weights> weights;
  kv_cache* cache;
  kernels::lanes* pool;
  forward_options options;
  kernels::isa isa;
  kernels::norm_options norm;
  std::vector<float> frequencies; // [rotary_dim / 2]

  // Scratch of one pass, [rows_max, ...].
  f32_scratch residual; // [H]
  f32_scratch sublayer; // [H]: what is added to the residual
  f32_scratch q;        // [heads * head_dim]
  f32_scratch k;        // [kv_heads * head_dim]
  f32_scratch v;        // [kv_heads * head_dim]
  f32_scratch angles;   // [rotary_dim]
  hidden_rows normed;   // [H], rounded
  hidden_rows attended; // [heads * head_dim], rounded
  row_pool requests{request_bytes_kept};

  // The pass under way.
  pass_id pass;
  size_t rows = 0;
  uint32_t layer = 0;
  bool waiting = false;
  std::vector<size_t> wanted;                  // rows whose logits are wanted
  std::vector<std::vector<std::byte*>> blocks; // [slots]
  std::vector<kernels::attention_row> cached;  // [rows]
  std::vector<std::vector<float>> hidden;
};

forward_pass::state::state(std::shared_ptr<const backbone_weights> w,
                           kv_cache& c, kernels::lanes& p, forward_options o)
  : weights(std::move(w)), cache(&c), pool(&p), options(o),
    isa(weights->options.isa), norm{static_cast<float>(
                                      weights->config.norm.eps),
                                    isa},
    residual(o.rows_max, weights->config.hidden_size),
    sublayer(o.rows_max, weights->config.hidden_size),
    q(o.rows_max, weights->config.attention.q_size()),
    k(o.rows_max, weights->config.attention.kv_size()),
    v(o.rows_max, weights->config.attention.kv_size()),
    angles(o.rows_max, weights->config.attention.rope.rotary_dim),
    normed(o.rows_max, weights->config.hidden_size,
           row_type(weights->options.mode)),
    attended(o.rows_max, weights->config.attention.q_size(),
             row_type(weights->options.mode)) {
  TROUPE_ASSERT(o.rows_max > 0);
  const auto& rope = weights->config.attention.rope;
  if (rope.rotary_dim > 0)
    frequencies =
      kernels::rope_inverse_frequencies(rope.theta, rope.rotary_dim);
}

void forward_pass::state::check(const batch& x) const {
  TROUPE_ASSERT(!x.rows.empty() && x.rows.size() <= options.rows_max);
  for (const auto& row : x.rows) {
    TROUPE_ASSERT(row.token >= 0 && static_cast<uint32_t>(row.token) <
                                      weights->config.vocab_size);
    TROUPE_ASSERT(row.slot < x.slots.size());
    TROUPE_ASSERT(row.position / kv_cache::block_tokens() <
                  x.slots[row.slot].blocks.size());
  }
}

/// Finds every row's blocks and the angles of its position, once for all
/// layers.
void forward_pass::state::bind_cache(const batch& x) {
  blocks.clear();
  for (const auto& slot : x.slots) {
    auto& list = blocks.emplace_back();
    for (auto id : slot.blocks)
      list.push_back(cache->block(id));
  }
  cached.clear();
  wanted.clear();
  std::vector<size_t> positions;
  for (size_t r = 0; r < rows; ++r) {
    const auto& row = x.rows[r];
    cached.push_back({row.position, {blocks[row.slot], 0}});
    positions.push_back(row.position);
    if (row.output == row_output::logits)
      wanted.push_back(r);
  }
  if (!frequencies.empty())
    kernels::rope_angles(frequencies, positions, 1.0F, angles.rows(rows));
}

void forward_pass::state::embed(const batch& x) {
  const auto& table = weights->embedding;
  const auto out = residual.rows(rows);
  for (size_t r = 0; r < rows; ++r) {
    const auto* from = table.row(static_cast<size_t>(x.rows[r].token));
    if (table.type == kernels::dtype::f32) {
      std::memcpy(out.row(r), from, table.row_bytes());
      continue;
    }
    const auto* values = reinterpret_cast<const kernels::bf16*>(from);
    std::transform(values, values + table.cols, out.row(r), kernels::to_float);
  }
}

forward_pass::output forward_pass::state::run() {
  for (; layer < weights->layers.size(); ++layer) {
    capture(residual.rows(rows));
    attend();
    if (!here().dense)
      return ask_experts();
    run_dense();
  }
  return finish();
}

/// residual += o(attention(norm(residual)))
void forward_pass::state::attend() {
  const auto& w = here();
  const auto& mixer = std::get<gqa_weights>(w.mixer);
  kernels::rms_norm(norm, residual.rows(rows), w.mixer_norm.weight,
                    first_rows(normed, rows), *pool);
  project();
  const auto& config = weights->config.attention;
  for (auto& row : cached)
    row.cache.offset = cache->layer_offset(layer);
  kernels::store_kv(cache->layout(), cached, k.rows(rows), v.rows(rows), *pool);
  kernels::attention_options attention;
  attention.layout = cache->layout();
  attention.heads = config.heads;
  attention.scale = static_cast<float>(config.scale);
  attention.isa = isa;
  kernels::attention(attention, cached, q.rows(rows),
                     first_rows(attended, rows), *pool);
  const auto out = sublayer.rows(rows);
  kernels::matmul(mixer.o, first_rows_of(attended, rows), out, *pool);
  add_bias(out, mixer.o_bias);
  kernels::add_rows(isa, residual.rows(rows), as_activation(out), *pool);
}

/// Queries, keys and values: projected, normed, turned.
void forward_pass::state::project() {
  const auto& w = std::get<gqa_weights>(here().mixer);
  const auto& config = weights->config.attention;
  const kernels::packed_weight* const projections[] = {&w.q, &w.k, &w.v};
  const matrix_view<float> outs[] = {q.rows(rows), k.rows(rows), v.rows(rows)};
  kernels::matmul(projections, first_rows_of(normed, rows), outs, *pool);
  add_bias(outs[0], w.q_bias);
  add_bias(outs[1], w.k_bias);
  add_bias(outs[2], w.v_bias);
  if (config.qk_norm.kind == qk_norm_kind::per_head) {
    kernels::rms_norm_heads(norm, outs[0], w.q_norm, as_output(outs[0]), *pool);
    kernels::rms_norm_heads(norm, outs[1], w.k_norm, as_output(outs[1]), *pool);
  }
  if (frequencies.empty())
    return;
  const kernels::rope_options rope{config.head_dim, config.rope.rotary_dim,
                                   config.rope.pairs, isa};
  kernels::apply_rope(rope, angles.rows(rows), outs[0], *pool);
  kernels::apply_rope(rope, angles.rows(rows), outs[1], *pool);
}

/// residual += ffn(norm(residual))
void forward_pass::state::run_dense() {
  kernels::rms_norm(norm, residual.rows(rows), here().ffn_norm.weight,
                    first_rows(normed, rows), *pool);
  const auto out = sublayer.rows(rows);
  kernels::dense_ffn(*here().dense, first_rows_of(normed, rows), as_output(out),
                     *pool);
  kernels::add_rows(isa, residual.rows(rows), as_activation(out), *pool);
}

moe_request forward_pass::state::ask_experts() {
  const auto& router = here().router;
  auto input = requests.take(rows, weights->config.hidden_size, normed.type);
  kernels::rms_norm(norm, residual.rows(rows), here().ffn_norm.weight,
                    input->output(), *pool);
  moe_request out;
  out.pass = pass;
  out.layer = layer_index{layer};
  out.router_logits.resize(rows * router.outputs());
  kernels::matmul(
    router, input->view(),
    {out.router_logits.data(), rows, router.outputs(), router.outputs()},
    *pool);
  out.rows = std::move(input);
  waiting = true;
  return out;
}

pass_output forward_pass::state::finish() {
  if (options.capture == hidden_capture::all) {
    const auto out = sublayer.rows(rows);
    kernels::rms_norm(norm, residual.rows(rows), weights->final_norm.weight,
                      as_output(out), *pool);
    capture(out);
  }
  pass_output out;
  out.pass = pass;
  out.vocab = weights->config.vocab_size;
  out.hidden = std::move(hidden);
  if (wanted.empty())
    return out;
  // Only the wanted rows pay for the head: they move to the front, in order.
  const auto all = residual.rows(rows);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != i)
      std::copy_n(all.row(wanted[i]), all.cols, all.row(i));
  const auto n = wanted.size();
  kernels::rms_norm(norm, residual.rows(n), weights->final_norm.weight,
                    first_rows(normed, n), *pool);
  out.logits.resize(n * out.vocab);
  kernels::matmul(weights->head, first_rows_of(normed, n),
                  {out.logits.data(), n, out.vocab, out.vocab}, *pool);
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
  s.bind_cache(x);
  s.embed(x);
  return s.run();
}

forward_pass::output forward_pass::resume(const moe_response& y) {
  const kernels::flush_denormals_scope flush;
  auto& s = *state_;
  const size_t k = y.top_k;
  TROUPE_ASSERT(s.waiting && y.pass == s.pass && y.layer.value == s.layer);
  TROUPE_ASSERT(y.pairs.size() == s.rows * k && y.weights.size() == s.rows * k);
  s.waiting = false;
  const kernels::combine_options options{kernels::combine_into::add, s.isa};
  kernels::combine(options, y.pairs, y.type, {y.weights.data(), s.rows, k, k},
                   s.residual.rows(s.rows), *s.pool);
  ++s.layer;
  return s.run();
}

bool forward_pass::waiting() const noexcept {
  return state_->waiting;
}

} // namespace troupe
