// The bf16 rule with FMA, for AVX2 and AVX-512: columns across the vector, one
// accumulator each for the even and the odd elements of a pair. Compiled once
// per target by Highway; the caller chooses by `isa`, not by global state.
#include "kernels/bf16_rule.hpp"
#include "kernels/simd.hpp"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bf16_fma.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels::bf16_rule::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

using f32s = hn::ScalableTag<float>;
using u32s = hn::ScalableTag<uint32_t>;
using vec = hn::Vec<f32s>;

constexpr size_t width = HWY_TARGET == HWY_AVX2 ? 8 : 16;
/// Vectors of columns and rows held in registers: two sums for each.
constexpr size_t group_vectors = HWY_TARGET == HWY_AVX2 ? 2 : 4;
constexpr size_t group_rows = 3;
constexpr size_t prefetch_blocks = 2;

/// One step for `Rows` rows and `Vectors` vectors of columns:
/// out += (e + o).
template <size_t Rows, size_t Vectors>
HWY_INLINE void add_step(const float* HWY_RESTRICT x, size_t x_stride,
                         const uint32_t* HWY_RESTRICT w,
                         float* HWY_RESTRICT out, size_t out_stride) {
  const f32s f;
  const u32s u;
  vec even[Rows][Vectors], odd[Rows][Vectors];
  for (size_t r = 0; r < Rows; ++r)
    for (size_t v = 0; v < Vectors; ++v)
      even[r][v] = odd[r][v] = hn::Zero(f);
  const auto upper = hn::Set(u, 0xffff0000u);
#pragma GCC unroll 16
  for (size_t i = 0; i < step_inputs / 2; ++i) {
#pragma GCC unroll 4
    for (size_t v = 0; v < Vectors; ++v) {
      const auto pair = hn::LoadU(u, w + i * panel_columns + v * width);
      const auto first = hn::BitCast(f, hn::ShiftLeft<16>(pair));
      const auto second = hn::BitCast(f, hn::And(pair, upper));
#pragma GCC unroll 4
      for (size_t r = 0; r < Rows; ++r) {
        const float* at = x + r * x_stride + 2 * i;
        even[r][v] = hn::MulAdd(hn::Set(f, at[0]), first, even[r][v]);
        odd[r][v] = hn::MulAdd(hn::Set(f, at[1]), second, odd[r][v]);
      }
    }
  }
  for (size_t r = 0; r < Rows; ++r)
    for (size_t v = 0; v < Vectors; ++v) {
      float* at = out + r * out_stride + v * width;
      const auto sum = hn::Add(even[r][v], odd[r][v]);
      hn::StoreU(hn::Add(hn::LoadU(f, at), sum), f, at);
    }
}

template <size_t Rows>
HWY_INLINE void add_block(const float* x, size_t x_stride, const uint32_t* w,
                          float* out, size_t out_stride) {
  // One row leaves registers for more columns.
  constexpr size_t vectors = Rows == 1 ? 4 : group_vectors;
  for (size_t column = 0; column < panel_columns; column += vectors * width)
    add_step<Rows, vectors>(x, x_stride, w + column, out + column, out_stride);
}

void multiply_panel(const panel_task& task) {
  const size_t x_stride = task.steps_of_rows() * step_inputs;
  const auto* rows =
    reinterpret_cast<const float*>(task.rows) + task.first_step * step_inputs;
  const size_t count = task.range.count;
  const f32s f;
  for (size_t r = 0; r < count && task.first_step == 0; ++r)
    for (size_t column = 0; column < panel_columns; column += width)
      hn::StoreU(hn::Zero(f), f, task.out + r * task.out_stride + column);
  for (size_t step = 0; step < task.steps; ++step) {
    const std::byte* block = task.panel + step * block_bytes;
    // A part was expanded just now.
    for (size_t line = 0; line < block_bytes && !task.is_part(); line += 64)
      hwy::Prefetch(block + prefetch_blocks * block_bytes + line);
    const auto* w = reinterpret_cast<const uint32_t*>(block);
    const float* x = rows + task.range.first * x_stride + step * step_inputs;
    float* out = task.out;
    size_t r = 0;
    for (; r + group_rows <= count; r += group_rows)
      add_block<group_rows>(x + r * x_stride, x_stride, w,
                            out + r * task.out_stride, task.out_stride);
    if (count - r == 2)
      add_block<2>(x + r * x_stride, x_stride, w, out + r * task.out_stride,
                   task.out_stride);
    else if (count - r == 1)
      add_block<1>(x + r * x_stride, x_stride, w, out + r * task.out_stride,
                   task.out_stride);
  }
}

#endif

} // namespace troupe::kernels::bf16_rule::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace troupe::kernels::bf16_rule {

void multiply_panel_avx2(const panel_task& task) {
  const flush_denormals_scope flush;
  N_AVX2::multiply_panel(task);
}

void multiply_panel_avx512(const panel_task& task) {
  const flush_denormals_scope flush;
  N_AVX3::multiply_panel(task);
}

} // namespace troupe::kernels::bf16_rule
#endif
