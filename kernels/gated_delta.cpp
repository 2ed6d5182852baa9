// A task is one head of one run. Its rows are taken 16 at a time, its state 32
// columns at a time, in place: a block of columns sees all 16 rows while it is
// in the first-level cache. Columns are independent.
#include "kernels/gated_delta.hpp"

#include "kernels/gated_delta_job.hpp"
#include "kernels/simd.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gated_delta.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// Two vectors side by side: with four chains they keep the multiply-add units
/// busy.
inline constexpr size_t delta_vectors = 2;
static_assert(delta_rows % width == 0);
static_assert(delta_cols % (delta_vectors * width) == 0);

/// Parts of the scratch memory, for up to 16 rows.
struct delta_memory {
  float* k;     ///< [delta_rows, key_dim]
  float* q;     ///< [delta_rows, key_dim]
  float* decay; ///< [delta_rows]
  float* beta;  ///< [delta_rows]
};

HWY_INLINE delta_memory delta_memory_of(const delta_job& job) {
  float* const q = job.scratch + delta_rows * job.key_dim;
  float* const decay = q + delta_rows * job.key_dim;
  return {job.scratch, q, decay, decay + delta_rows};
}

/// y = x / |x| * scale.
HWY_INLINE void unit_vector(const float* x, size_t n, float scale, float* y) {
  const f32_tag d;
  const float sum = reduce_row(
    x, n, [d](f32_vec s, f32_vec v, size_t) { return fused(d, v, v, s); });
  const f32_vec factor = hn::Set(d, 1.0f / std::sqrt(sum + delta_norm_eps));
  const f32_vec times = hn::Set(d, scale);
  size_t i = 0;
  for (; i + width <= n; i += width)
    store_row(hn::Mul(hn::Mul(load_row(x + i), factor), times), y + i);
  if (i < n)
    store_tail(hn::Mul(hn::Mul(load_tail(x + i, n - i), factor), times), y + i,
               n - i);
}

/// Keys, queries and gates of `count` rows from `first` on.
HWY_INLINE void prepare_rows(const delta_job& job, size_t first, size_t count,
                             const delta_memory& memory) {
  const f32_tag d;
  const size_t n = job.k.cols;
  const float scale = 1.0f / std::sqrt(static_cast<float>(n));
  std::fill_n(job.scratch, delta_scratch(job.key_dim), 0.0f);
  for (size_t r = 0; r < count; ++r) {
    unit_vector(job.k.row(first + r), n, 1.0f, memory.k + r * job.key_dim);
    unit_vector(job.q.row(first + r), n, scale, memory.q + r * job.key_dim);
    memory.decay[r] = *job.a.row(first + r) + job.dt_bias;
    memory.beta[r] = *job.b.row(first + r);
  }
  const f32_vec rate = hn::Set(d, -troupe::kernels::exp_f32(job.a_log));
  for (size_t r = 0; r < delta_rows; r += width) {
    const f32_vec step = softplus_f32(d, load_row(memory.decay + r));
    store_row(exp_f32(d, hn::Mul(rate, step)), memory.decay + r);
    store_row(sigmoid_f32(d, load_row(memory.beta + r)), memory.beta + r);
  }
}

/// The columns of two vectors, of which the first `cols` exist.
struct delta_columns {
  float* state; ///< [key_dim, delta_cols], from the first of them on.
  size_t cols;

  HWY_INLINE size_t valid(size_t v) const {
    return std::min(width, cols - std::min(cols, v * width));
  }
  HWY_INLINE f32_vec load(const float* x, size_t v) const {
    const size_t n = valid(v);
    return n == width ? load_row(x + v * width) : load_tail(x + v * width, n);
  }
  HWY_INLINE void store(f32_vec y, float* to, size_t v) const {
    const size_t n = valid(v);
    if (n == width)
      store_row(y, to + v * width);
    else
      store_tail(y, to + v * width, n);
  }
};

HWY_INLINE f32_vec sum_chains(const f32_vec (&x)[delta_chains]) {
  return hn::Add(hn::Add(x[0], x[1]), hn::Add(x[2], x[3]));
}

/// One row passes through the columns. k, q: padded; v, y: at the columns.
struct delta_row {
  const float* k;
  const float* q;
  const float* v;
  float decay;
  float beta;
  float* y;
};

/// Accumulators of two vectors.
struct delta_sums {
  f32_vec of[delta_vectors][delta_chains];

  HWY_INLINE delta_sums() {
    for (auto& chains : of)
      for (auto& sum : chains)
        sum = hn::Zero(f32_tag());
  }
};

/// Leaves d, the change that the key stands for, in `change`.
HWY_INLINE void recall(const delta_columns& columns, const delta_row& row,
                       size_t key_dim, f32_vec (&change)[delta_vectors]) {
  const f32_tag d;
  delta_sums sums;
  for (size_t i = 0; i < key_dim; i += delta_chains)
    for (size_t u = 0; u < delta_chains; ++u) {
      const float* s = columns.state + (i + u) * delta_cols;
      const f32_vec k = hn::Set(d, row.k[i + u]);
      for (size_t v = 0; v < delta_vectors; ++v)
        sums.of[v][u] = fused(d, k, load_row(s + v * width), sums.of[v][u]);
    }
  for (size_t v = 0; v < delta_vectors; ++v) {
    const f32_vec recalled =
      hn::Mul(hn::Set(d, row.decay), sum_chains(sums.of[v]));
    change[v] =
      hn::Mul(hn::Sub(columns.load(row.v, v), recalled), hn::Set(d, row.beta));
  }
}

HWY_INLINE void pass_row(const delta_columns& columns, const delta_row& row,
                         size_t key_dim) {
  const f32_tag d;
  f32_vec change[delta_vectors];
  recall(columns, row, key_dim, change);
  const f32_vec decay = hn::Set(d, row.decay);
  delta_sums sums;
  for (size_t i = 0; i < key_dim; i += delta_chains)
    for (size_t u = 0; u < delta_chains; ++u) {
      float* s = columns.state + (i + u) * delta_cols;
      const f32_vec k = hn::Set(d, row.k[i + u]);
      const f32_vec q = hn::Set(d, row.q[i + u]);
      for (size_t v = 0; v < delta_vectors; ++v) {
        const f32_vec old = hn::Mul(load_row(s + v * width), decay);
        const f32_vec now = fused(d, k, change[v], old);
        store_row(now, s + v * width);
        sums.of[v][u] = fused(d, q, now, sums.of[v][u]);
      }
    }
  for (size_t v = 0; v < delta_vectors; ++v)
    columns.store(sum_chains(sums.of[v]), row.y, v);
}

/// `rows` rows from `first` on pass the columns [begin, begin + cols).
HWY_INLINE void pass_block(const delta_job& job, const delta_memory& memory,
                           size_t begin, size_t first, size_t rows) {
  const size_t cols = std::min(delta_cols, job.v.cols - begin);
  float* const state = job.state_out + begin * job.key_dim;
  if (first == 0 && job.state_in != job.state_out)
    std::memcpy(state, job.state_in + begin * job.key_dim,
                job.key_dim * delta_cols * sizeof(float));
  constexpr size_t step = delta_vectors * width;
  for (size_t c = 0; c < cols; c += step) {
    const delta_columns columns{state + c, std::min(step, cols - c)};
    for (size_t r = 0; r < rows; ++r)
      pass_row(columns,
               {memory.k + r * job.key_dim, memory.q + r * job.key_dim,
                job.v.row(first + r) + begin + c, memory.decay[r],
                memory.beta[r], job.y.row(first + r) + begin + c},
               job.key_dim);
  }
}

void delta_head(const delta_job& job) {
  const delta_memory memory = delta_memory_of(job);
  for (size_t first = 0; first < job.k.rows; first += delta_rows) {
    const size_t rows = std::min(delta_rows, job.k.rows - first);
    prepare_rows(job, first, rows, memory);
    for (size_t begin = 0; begin < job.v.cols; begin += delta_cols)
      pass_block(job, memory, begin, first, rows);
  }
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace troupe::kernels {

namespace {

bool fits(const gated_delta_options& options, const gated_delta_input& input,
          matrix_view<const float> y) {
  const auto is = [&](matrix_view<const float> x, size_t cols) {
    return x.rows == y.rows && x.cols == cols;
  };
  const size_t keys = options.key_heads * options.key_dim;
  const size_t values = options.value_heads * options.value_dim;
  return is(input.q, keys) && is(input.k, keys) && is(input.v, values) &&
         is(y, values) && is(input.a, options.value_heads) &&
         is(input.b, options.value_heads);
}

/// `rows` rows from `first` on, `cols` columns from `column` on.
template <class T>
matrix_view<T> part(matrix_view<T> x, std::array<size_t, 2> first_and_rows,
                    std::array<size_t, 2> column_and_cols) {
  return {x.row(first_and_rows[0]) + column_and_cols[0], first_and_rows[1],
          column_and_cols[1], x.stride};
}

} // namespace

void gated_delta(const gated_delta_options& options,
                 const gated_delta_input& input,
                 std::span<const sequence_run> runs, matrix_view<float> y,
                 lanes& pool) {
  const size_t heads = options.value_heads;
  const size_t dk = options.key_dim, dv = options.value_dim;
  TROUPE_ASSERT(options.key_heads > 0 && heads % options.key_heads == 0);
  TROUPE_ASSERT(heads > 0 && dk > 0 && dv > 0 && fits(options, input, y));
  TROUPE_ASSERT(options.a_log.size() == heads);
  TROUPE_ASSERT(options.dt_bias.size() == heads);
  TROUPE_ASSERT(covers(runs, y.rows, options.state_size()));
  const auto head_fn = TROUPE_SIMD_PICK(options.isa, delta_head);
  const auto first = first_rows_of(runs);
  const size_t sharing = heads / options.key_heads;
  pool.parallel_for(runs.size() * heads, [&](size_t task, size_t lane) {
    const size_t i = task / heads, head = task % heads;
    const std::array rows{first[i], runs[i].rows};
    const std::array keys{head / sharing * dk, dk};
    delta_job job;
    job.q = part(input.q, rows, keys);
    job.k = part(input.k, rows, keys);
    job.v = part(input.v, rows, {head * dv, dv});
    job.a = part(input.a, rows, {head, 1});
    job.b = part(input.b, rows, {head, 1});
    job.y = part(y, rows, {head * dv, dv});
    job.a_log = options.a_log[head];
    job.dt_bias = options.dt_bias[head];
    job.state_in = runs[i].state_in.data() + options.state_at(head, 0, 0);
    job.state_out = runs[i].state_out.data() + options.state_at(head, 0, 0);
    job.key_dim = options.padded_key_dim();
    job.scratch = reinterpret_cast<float*>(
      pool.task_scratch(lane, delta_scratch(job.key_dim) * sizeof(float)));
    head_fn(job);
  });
}

} // namespace troupe::kernels

#endif
