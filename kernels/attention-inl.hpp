// What the attention kernels share, compiled once per Highway target: a small
// matrix product whose sums run over the depth in order, one softmax step, and
// both together for a few queries and a block of keys.
#if defined(TROUPE_KERNELS_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TROUPE_KERNELS_ATTENTION_INL
#undef TROUPE_KERNELS_ATTENTION_INL
#else
#define TROUPE_KERNELS_ATTENTION_INL
#endif

#include "kernels/attention_tile.hpp"
#include "kernels/simd-inl.hpp"

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// c += a * b over `depth`, in order, one fused multiply-add per element.
/// a: rows of `a_stride`, read one element per step; b: [depth][b_stride].
/// Each step also asks for the memory at `ahead`, which moves on by
/// `ahead_step`: a decode row waits for memory, not for arithmetic.
template <class T>
struct product {
  const float* a;
  size_t a_stride;
  const T* b;
  size_t b_stride;
  float* c;
  size_t c_stride;
  size_t depth;
  const void* ahead = nullptr; ///< Any address will do when the step is 0.
  size_t ahead_step = 0;       ///< Bytes.
};

/// Rows a tile of `multiply` holds in registers, with two vectors each.
inline constexpr size_t tile_rows = width >= 16 ? 8 : 4;

template <size_t Rows, size_t Vectors, class T>
HWY_INLINE void multiply_tile(const product<T>& p, size_t row, size_t column,
                              const std::byte* ahead) {
  const f32_tag d;
  const float* a = p.a + row * p.a_stride;
  const T* b = p.b + column;
  float* c = p.c + row * p.c_stride + column;
  f32_vec sums[Rows][Vectors];
  for (size_t r = 0; r < Rows; ++r)
    for (size_t v = 0; v < Vectors; ++v)
      sums[r][v] = load_row(c + r * p.c_stride + v * width);
  for (size_t k = 0; k < p.depth; ++k) {
    hwy::Prefetch(ahead);
    ahead += p.ahead_step;
    f32_vec x[Vectors];
    for (size_t v = 0; v < Vectors; ++v)
      x[v] = load_row(b + k * p.b_stride + v * width);
    for (size_t r = 0; r < Rows; ++r) {
      const f32_vec s = hn::Set(d, a[r * p.a_stride + k]);
      for (size_t v = 0; v < Vectors; ++v)
        sums[r][v] = fused(d, s, x[v], sums[r][v]);
    }
  }
  for (size_t r = 0; r < Rows; ++r)
    for (size_t v = 0; v < Vectors; ++v)
      store_row(sums[r][v], c + r * p.c_stride + v * width);
}

/// `columns` is rounded up to whole vectors.
template <size_t Rows, class T>
HWY_NOINLINE void multiply_rows(const product<T>& p, size_t row,
                                size_t columns) {
  const auto* ahead = static_cast<const std::byte*>(p.ahead);
  size_t column = 0;
  for (; column + width < columns; column += 2 * width) {
    multiply_tile<Rows, 2>(p, row, column, ahead);
    ahead += p.depth * p.ahead_step;
  }
  if (column < columns)
    multiply_tile<Rows, 1>(p, row, column, ahead);
}

/// Rows [0, rows) of the product, rows <= tile_rows.
template <class T>
HWY_INLINE void multiply(const product<T>& p, size_t rows, size_t columns) {
  size_t row = 0;
  if constexpr (tile_rows >= 8)
    for (; row + 8 <= rows; row += 8)
      multiply_rows<8>(p, row, columns);
  for (; row + 4 <= rows; row += 4)
    multiply_rows<4>(p, row, columns);
  for (; row + 2 <= rows; row += 2)
    multiply_rows<2>(p, row, columns);
  if (row < rows)
    multiply_rows<1>(p, row, columns);
}

/// Sets the scores that are not visible to -inf.
HWY_INLINE void mask_scores(visible_range visible,
                            f32_vec (&x)[partial_vectors]) {
  const f32_tag d;
  const f32_vec first = hn::Set(d, static_cast<float>(visible.first));
  const f32_vec end = hn::Set(d, static_cast<float>(visible.end));
  const f32_vec masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (size_t v = 0; v < partial_vectors; ++v) {
    const f32_vec index = hn::Iota(d, static_cast<float>(v * width));
    const auto seen = hn::And(hn::Ge(index, first), hn::Lt(index, end));
    x[v] = hn::IfThenElse(seen, x[v], masked);
  }
}

/// Turns the visible ones of 64 scores into weights e^(score - m'), the others
/// into zeros, updates the running maximum and sum, and returns e^(m - m'), the
/// factor for what has been summed so far.
HWY_INLINE float softmax_step(float* scores, visible_range visible,
                              float& maximum, float& sum) {
  const f32_tag d;
  f32_vec x[partial_vectors];
  f32_vec best[partial_vectors];
  for (size_t v = 0; v < partial_vectors; ++v)
    x[v] = load_row(scores + v * width);
  if (!(visible == visible_range{0, kv_block_tokens}))
    mask_scores(visible, x);
  for (size_t v = 0; v < partial_vectors; ++v)
    best[v] = x[v];
  const float last = maximum;
  const float block = max_partials(best);
  maximum = last > block ? last : block;
  const f32_vec top = hn::Set(d, maximum);
  for (size_t v = 0; v < partial_vectors; ++v) {
    x[v] = exp_f32(d, hn::Sub(x[v], top));
    store_row(x[v], scores + v * width);
  }
  f32_vec factor = hn::Set(d, 1.0f);
  if (last != maximum)
    factor = exp_f32(d, hn::Set(d, last - maximum));
  const f32_vec added = hn::Set(d, sum_partials(x));
  sum = hn::GetLane(fused(d, hn::Set(d, sum), factor, added));
  return hn::GetLane(factor);
}

/// A run of a tile's queries, at most tile_rows.
struct query_run {
  size_t first;
  size_t count;
};

/// Keys of a block, [head_dim][64], and memory to ask for while they are read.
template <class T>
struct key_block {
  const T* keys;
  const void* ahead = nullptr;
  size_t ahead_step = 0;
};

/// Scores, then weights of a run in one block. Calls rescale(query, factor) for
/// every query that sees some of it.
template <class T, class Rescale>
HWY_INLINE void weigh_positions(const tile_state& s, const key_block<T>& block,
                                const query_run& run, Rescale rescale) {
  const size_t dim = s.layout().head_dim;
  const visible_range* ranges = s.ranges + run.first;
  const visible_range any = s.seen_by_any_of(run.first, run.count);
  const size_t start = any.first / width * width;
  float* scores = s.scores + run.first * kv_block_tokens;
  std::fill_n(scores, run.count * kv_block_tokens, 0.0f);
  const product<T> p{s.queries + run.first * dim,
                     dim,
                     block.keys + start,
                     kv_block_tokens,
                     scores + start,
                     kv_block_tokens,
                     dim,
                     block.ahead,
                     block.ahead_step};
  multiply(p, run.count, any.end - start);
  for (size_t i = 0; i < run.count; ++i)
    if (!ranges[i].empty())
      rescale(run.first + i,
              softmax_step(scores + i * kv_block_tokens, ranges[i],
                           s.maxima[run.first + i], s.sums[run.first + i]));
}

/// Bytes between two prefetches, so that one sweep of `weigh_positions` over a
/// block's columns asks for as much as a block of keys.
template <class T>
inline constexpr size_t ahead_step = 2 * width * sizeof(T);

HWY_INLINE void expand(const bf16* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i += width)
    store_row(load_row(x + i), y + i);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#endif
