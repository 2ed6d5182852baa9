// AMX kernels over packed panels. Up to 16 rows: one tile of rows against four
// tiles of columns, each 4 KiB block read once, in order, prefetched well
// ahead (weights come from memory). More rows: 2 x 2 tiles, where each loaded
// tile is used twice, the panel stays in the cache from the second block of
// rows on, and the next panel is fetched meanwhile. Tile sums are in K order,
// whatever the shape: the bits are the same.
#include "kernels/bf16_rule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>

#define TROUPE_AMX __attribute__((target("amx-tile,amx-bf16"), noinline))

namespace troupe::kernels::bf16_rule {

namespace {

/// The operand of LDTILECFG (Intel SDM, palette 1).
struct alignas(64) tile_config {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved{};
  std::array<uint16_t, 16> column_bytes{};
  std::array<uint8_t, 16> rows{};
};

static_assert(sizeof(tile_config) == 64);

/// Tiles 0..3 are sums, 4 and 5 rows of x, 6 and 7 columns of w.
constexpr size_t sum_stride(size_t out_stride) {
  return out_stride * sizeof(float);
}

constexpr size_t block_row_bytes = 256; ///< One pair of K, 64 columns.
constexpr size_t prefetch_bytes = 8192; ///< Ahead of a stream from memory.
/// K of one pass over many rows: their tiles and half a panel stay in L2.
constexpr size_t pass_steps = 128;

/// Configures tiles whose x and sums have `upper` rows (tiles 0, 1, 4) and
/// `lower` rows (tiles 2, 3, 5). The streaming kernel passes the same twice.
TROUPE_AMX void configure(size_t upper, size_t lower) {
  tile_config config;
  for (size_t tile = 0; tile < 8; ++tile) {
    config.column_bytes[tile] = 64;
    config.rows[tile] = 16;
  }
  for (size_t tile : {0u, 1u, 4u})
    config.rows[tile] = static_cast<uint8_t>(upper);
  for (size_t tile : {2u, 3u, 5u})
    config.rows[tile] = static_cast<uint8_t>(lower);
  // The intrinsic tells the compiler of 8 bytes only; the rest must be stored.
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

template <int Hint>
inline void prefetch_lines(const std::byte* from, size_t lines) {
  const auto* at = reinterpret_cast<const char*>(from);
  for (size_t i = 0; i < lines; ++i)
    _mm_prefetch(at + i * 64, static_cast<_mm_hint>(Hint));
}

/// Up to 16 rows, all 64 columns.
TROUPE_AMX void stream_panel(const panel_task& task, const std::byte* x,
                             size_t rows) {
  configure(rows, rows);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const size_t x_step = rows * tile_row_bytes;
  const std::byte* w = task.panel;
  const std::byte* ahead = task.panel + prefetch_bytes;
  for (size_t step = 0; step < task.steps; ++step) {
    // The stream goes on in the next panel, wherever that lies.
    if (step + prefetch_bytes / block_bytes == task.steps && task.next)
      ahead = task.next;
    _tile_loadd(4, x, tile_row_bytes);
    prefetch_lines<_MM_HINT_T0>(ahead, 16);
    _tile_loadd(6, w, block_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    prefetch_lines<_MM_HINT_T0>(ahead + 1024, 16);
    _tile_loadd(7, w + 64, block_row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    prefetch_lines<_MM_HINT_T0>(ahead + 2048, 16);
    _tile_loadd(6, w + 128, block_row_bytes);
    _tile_dpbf16ps(2, 4, 6);
    prefetch_lines<_MM_HINT_T0>(ahead + 3072, 16);
    ahead += block_bytes;
    _tile_loadd(7, w + 192, block_row_bytes);
    _tile_dpbf16ps(3, 4, 7);
    x += x_step;
    w += block_bytes;
  }
  const size_t stride = sum_stride(task.out_stride);
  _tile_stored(0, task.out, stride);
  _tile_stored(1, task.out + 16, stride);
  _tile_stored(2, task.out + 32, stride);
  _tile_stored(3, task.out + 48, stride);
}

/// Two tiles of rows against 32 columns, over steps [begin, end).
struct square {
  const std::byte* upper; ///< First tile of x, at step `begin`.
  const std::byte* lower;
  size_t upper_step; ///< Bytes from step to step.
  size_t lower_step;
  const std::byte* w; ///< At step `begin`, first of the 32 columns.
  size_t steps;
  float* out; ///< First row of the upper tile.
  size_t out_stride;
  const std::byte* next; ///< What to fetch from memory meanwhile.
  size_t next_lines;     ///< Cache lines of it at each step; may be 0.
};

enum class sums : uint8_t { begin, go_on };
enum class weights_are : uint8_t { in_memory, in_cache };

template <sums Sums, weights_are Weights>
TROUPE_AMX void multiply_square(const square& s) {
  const size_t stride = sum_stride(s.out_stride);
  float* below = s.out + tile_rows * s.out_stride;
  if constexpr (Sums == sums::begin) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, s.out, stride);
    _tile_loadd(1, s.out + 16, stride);
    _tile_loadd(2, below, stride);
    _tile_loadd(3, below + 16, stride);
  }
  const std::byte* upper = s.upper;
  const std::byte* lower = s.lower;
  const std::byte* w = s.w;
  const std::byte* next = s.next;
  for (size_t step = 0; step < s.steps; ++step) {
    if constexpr (Weights == weights_are::in_memory)
      prefetch_lines<_MM_HINT_T0>(w + prefetch_bytes, 64);
    prefetch_lines<_MM_HINT_T1>(next, s.next_lines);
    next += s.next_lines * 64;
    _tile_loadd(4, upper, tile_row_bytes);
    _tile_loadd(6, w, block_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, w + 64, block_row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower, tile_row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    upper += s.upper_step;
    lower += s.lower_step;
    w += block_bytes;
  }
  _tile_stored(0, s.out, stride);
  _tile_stored(1, s.out + 16, stride);
  _tile_stored(2, below, stride);
  _tile_stored(3, below + 16, stride);
}

/// The kernel for these conditions.
auto choose_square(size_t first_step, bool from_memory) {
  if (first_step > 0)
    return from_memory ? multiply_square<sums::go_on, weights_are::in_memory>
                       : multiply_square<sums::go_on, weights_are::in_cache>;
  return from_memory ? multiply_square<sums::begin, weights_are::in_memory>
                     : multiply_square<sums::begin, weights_are::in_cache>;
}

/// Rows of tile `tile` of `task`.
size_t rows_of_tile(const panel_task& task, size_t tile) {
  return std::min(tile_rows, task.row_count - tile * tile_rows);
}

const std::byte* tile_data(const panel_task& task, size_t tile) {
  return task.rows + tile * tile_rows * task.steps * tile_row_bytes;
}

/// One pass over the rows from tile `tile` on, in pairs of tiles.
void multiply_pairs(const panel_task& task, size_t begin, size_t end) {
  const size_t first_tile = task.range.first / tile_rows;
  const size_t pairs = task.range.count / (2 * tile_rows) +
                       (task.range.count % (2 * tile_rows) > tile_rows);
  // The next panel's part of this pass, spread evenly over all squares.
  const size_t lines = task.next ? (32 + pairs - 1) / pairs : 0;
  const std::byte* next = task.next + begin * block_bytes;
  for (size_t half = 0; half < 2; ++half) {
    size_t lower_rows = 0;
    for (size_t pair = 0; pair < pairs; ++pair) {
      const size_t tile = first_tile + 2 * pair;
      if (rows_of_tile(task, tile + 1) != lower_rows) {
        lower_rows = rows_of_tile(task, tile + 1);
        configure(tile_rows, lower_rows);
      }
      square s;
      s.upper_step = tile_rows * tile_row_bytes;
      s.lower_step = lower_rows * tile_row_bytes;
      s.upper = tile_data(task, tile) + begin * s.upper_step;
      s.lower = tile_data(task, tile + 1) + begin * s.lower_step;
      s.w = task.panel + begin * block_bytes + half * 128;
      s.steps = end - begin;
      s.out = task.out + 2 * pair * tile_rows * task.out_stride + half * 32;
      s.out_stride = task.out_stride;
      s.next = next;
      s.next_lines = lines;
      next += s.steps * lines * 64;
      choose_square(begin, half == 0 && pair == 0 && !task.is_fetched)(s);
    }
  }
}

TROUPE_AMX void release_tiles() {
  _tile_release();
}

} // namespace

void multiply_panel_amx(const panel_task& task) {
  // The tile intrinsics of older compilers do not say that they read memory.
  __asm__ volatile("" : : : "memory");
  const size_t rest = task.range.count % (2 * tile_rows);
  if (task.range.count > tile_rows)
    for (size_t begin = 0; begin < task.steps; begin += pass_steps)
      multiply_pairs(task, begin, std::min(begin + pass_steps, task.steps));
  if (rest > 0 && rest <= tile_rows) {
    const size_t done = task.range.count - rest;
    panel_task last = task;
    last.out = task.out + done * task.out_stride;
    stream_panel(last, tile_data(task, (task.range.first + done) / tile_rows),
                 rest);
  }
  release_tiles();
}

} // namespace troupe::kernels::bf16_rule
