// Channels across the lanes of a vector, one chain of multiply-adds each. A
// task is a block of channels of one run, so it owns that part of the state.
#include "kernels/short_conv.hpp"

#include "kernels/short_conv_job.hpp"
#include "kernels/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/short_conv.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace troupe::kernels {
namespace HWY_NAMESPACE {

/// The channels from c on that `load` reads.
template <class Load>
HWY_INLINE f32_vec conv_channels(const short_conv_job& job, Load load) {
  const f32_tag d;
  f32_vec sum = job.bias == nullptr ? hn::Zero(d) : load(job.bias);
  for (size_t j = 0; j < job.kernel; ++j)
    sum = fused(d, load(job.taps[j]), load(job.inputs[j]), sum);
  return job.activation == conv_activation::silu ? silu_f32(d, sum) : sum;
}

void conv_row(const short_conv_job& job) {
  size_t c = 0;
  for (; c + width <= job.channels; c += width)
    store_row(
      conv_channels(job, [c](const float* x) { return load_row(x + c); }),
      job.y + c);
  const size_t rest = job.channels - c;
  if (rest > 0)
    store_tail(
      conv_channels(
        job, [c, rest](const float* x) { return load_tail(x + c, rest); }),
      job.y + c, rest);
}

} // namespace HWY_NAMESPACE
} // namespace troupe::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cstring>

namespace troupe::kernels {

namespace {

constexpr size_t channels_per_task = 256;

/// One run and the channels [begin, begin + count) of it.
struct conv_block {
  const short_conv_options& options;
  const sequence_run& run;
  matrix_view<const float> x; ///< Rows of the run, all channels.
  size_t begin;
  size_t count;

  /// Row t of the run; before it, rows of the state.
  const float* input(size_t t, size_t back) const {
    if (t >= back)
      return x.row(t - back) + begin;
    const size_t behind = back - t; // 1: the newest row of the state
    return run.state_in.data() +
           (options.taps.rows - 1 - behind) * options.taps.cols + begin;
  }

  short_conv_job job() const {
    short_conv_job out{.kernel = options.taps.rows,
                       .activation = options.activation,
                       .channels = count};
    for (size_t j = 0; j < out.kernel; ++j)
      out.taps[j] = options.taps.row(j) + begin;
    if (!options.bias.empty())
      out.bias = options.bias.data() + begin;
    return out;
  }

  /// Oldest row first: a row that moves down leaves before it is overwritten.
  void save_state() const {
    const size_t kept = options.taps.rows - 1;
    for (size_t i = 0; i < kept; ++i)
      std::memmove(run.state_out.data() + i * options.taps.cols + begin,
                   input(run.rows, kept - i), count * sizeof(float));
  }
};

} // namespace

void short_conv(const short_conv_options& options, matrix_view<const float> x,
                std::span<const sequence_run> runs, matrix_view<float> y,
                lanes& pool) {
  const size_t kernel = options.taps.rows;
  const size_t channels = options.taps.cols;
  TROUPE_ASSERT(kernel >= 1 && kernel <= conv_taps_max && channels > 0);
  TROUPE_ASSERT(options.bias.empty() || options.bias.size() == channels);
  TROUPE_ASSERT(x.rows == y.rows && x.cols == channels && y.cols == channels);
  TROUPE_ASSERT(covers(runs, x.rows, options.state_size()));
  const auto row_fn = TROUPE_SIMD_PICK(options.isa, conv_row);
  const auto first = first_rows_of(runs);
  const size_t blocks = (channels + channels_per_task - 1) / channels_per_task;
  pool.parallel_for(runs.size() * blocks, [&](size_t task, size_t) {
    const size_t i = task / blocks;
    const size_t begin = task % blocks * channels_per_task;
    const conv_block block{options,
                           runs[i],
                           {x.row(first[i]), runs[i].rows, channels, x.stride},
                           begin,
                           std::min(channels_per_task, channels - begin)};
    short_conv_job job = block.job();
    for (size_t t = 0; t < runs[i].rows; ++t) {
      for (size_t j = 0; j < kernel; ++j)
        job.inputs[j] = block.input(t, kernel - 1 - j);
      job.y = y.row(first[i] + t) + begin;
      row_fn(job);
    }
    block.save_state();
  });
}

} // namespace troupe::kernels

#endif
