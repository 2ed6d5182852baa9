// Speed of the kernels: tiles with weights in the cache, matmul and the expert
// layer with weights from memory. Counters: FLOPS, weight bytes per second, and
// (cold cases) the share of the read bandwidth measured at the start.
#include "kernels/moe_ffn.hpp"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using namespace troupe::kernels;

constexpr size_t hidden = 2048, expert_size = 768, top_k = 8;
/// Experts in memory: far more than any cache holds in turn.
constexpr size_t experts = 64;

lanes& pool() {
  static lanes shared({.count = std::thread::hardware_concurrency(),
                       .pin = pin_lanes::no,
                       .spin = std::chrono::microseconds{200}});
  return shared;
}

uint64_t sum_of(std::span<const uint64_t> words) {
  return std::accumulate(words.begin(), words.end(), uint64_t{0});
}

/// Bytes per second that all lanes read from memory, best of several passes.
double read_bandwidth() {
  static const double best = [] {
    const aligned_buffer memory(size_t{1} << 30);
    std::fill_n(const_cast<std::byte*>(memory.data()), memory.size_bytes(),
                std::byte{1});
    const auto words = memory.as<uint64_t>();
    constexpr size_t pieces = 512;
    const size_t piece = words.size() / pieces;
    double seconds = 1e9;
    for (int pass = 0; pass < 8; ++pass) {
      const auto start = std::chrono::steady_clock::now();
      pool().parallel_for(pieces, [&](size_t task, size_t) {
        benchmark::DoNotOptimize(sum_of(words.subspan(task * piece, piece)));
      });
      const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
      seconds = std::min(seconds, took.count());
    }
    return static_cast<double>(memory.size_bytes()) / seconds;
  }();
  return best;
}

std::vector<bf16> some_values(size_t count) {
  std::vector<bf16> values(count);
  uint32_t state = 1;
  for (auto& value : values) {
    state = state * 1664525u + 1013904223u;
    value = to_bf16(static_cast<float>(static_cast<int32_t>(state)) * 0x1p-32f);
  }
  return values;
}

packed_weight some_weight(size_t outputs, size_t inputs, isa level) {
  const auto source = some_values(outputs * inputs);
  return packed_weight::pack(as_activation(source.data(), outputs, inputs),
                             {level, numeric_mode::bf16});
}

void count_work(benchmark::State& state, double weight_bytes, double flop) {
  using benchmark::Counter;
  state.counters["flops"] = Counter(flop, Counter::kIsIterationInvariantRate);
  state.counters["weights_per_s"] =
    Counter(weight_bytes, Counter::kIsIterationInvariantRate);
}

void count_cold(benchmark::State& state, double weight_bytes, double flop) {
  using benchmark::Counter;
  count_work(state, weight_bytes, flop);
  state.counters["of_read_bandwidth"] = Counter(
    weight_bytes / read_bandwidth(), Counter::kIsIterationInvariantRate);
}

/// One thread, one panel of 64 columns that stays in L2. Args: K, rows, isa.
void hot_tile(benchmark::State& state) {
  const auto inputs = static_cast<size_t>(state.range(0));
  const auto rows = static_cast<size_t>(state.range(1));
  const auto level = static_cast<isa>(state.range(2));
  if (!supported(level))
    return state.SkipWithError("this machine lacks the ISA");
  const auto w = some_weight(64, inputs, level);
  const auto x = some_values(rows * inputs);
  aligned_buffer memory(packed_rows::bytes_needed(rows, inputs, w.options()));
  const packed_rows packed(memory.data(), rows, inputs, w.options());
  for (size_t row = 0; row < rows; ++row)
    packed.set_row(row, as_activation(x.data(), rows, inputs), row);
  aligned_buffer out(rows * 64 * sizeof(float));
  for (auto _ : state)
    multiply_block({&w, 0, {0, rows}, {out.as<float>().data(), rows, 64, 64}},
                   packed);
  count_work(state, static_cast<double>(w.size_bytes()),
             2.0 * 64 * static_cast<double>(rows * inputs));
}

/// A model's experts, in one arena as a node keeps them.
struct expert_arena {
  explicit expert_arena(isa level) {
    const compute_options options{level, numeric_mode::bf16};
    const size_t wide =
      packed_weight::bytes_needed(expert_size, hidden, options);
    const size_t narrow =
      packed_weight::bytes_needed(hidden, expert_size, options);
    memory = aligned_buffer(experts * (2 * wide + narrow));
    const auto source = some_values(expert_size * hidden);
    const auto gate = as_activation(source.data(), expert_size, hidden);
    const auto down = as_activation(source.data(), hidden, expert_size);
    std::byte* at = memory.data();
    const auto place = [&](activation_view from, size_t bytes) {
      auto w = packed_weight::pack_into({at, bytes}, from, options);
      at += bytes;
      return w;
    };
    for (auto& ffn : ffns) {
      ffn.gate = place(gate, wide);
      ffn.up = place(gate, wide);
      ffn.down = place(down, narrow);
    }
  }

  aligned_buffer memory;
  std::vector<expert_ffn> ffns = std::vector<expert_ffn>(experts);
};

const expert_arena& arena(isa level) {
  static std::vector<std::unique_ptr<expert_arena>> made(4);
  auto& one = made.at(static_cast<size_t>(level));
  if (one == nullptr)
    one = std::make_unique<expert_arena>(level);
  return *one;
}

/// The expert layer with cold weights. Args: experts hit, rows each, isa.
void cold_experts(benchmark::State& state) {
  const auto hit = static_cast<size_t>(state.range(0));
  const auto rows = static_cast<size_t>(state.range(1));
  const auto level = static_cast<isa>(state.range(2));
  if (!supported(level))
    return state.SkipWithError("this machine lacks the ISA");
  const auto& ffns = arena(level).ffns;
  static_cast<void>(read_bandwidth());
  const auto x = some_values(rows * hidden);
  std::vector<bf16> y(hit * rows * hidden);
  std::vector<uint32_t> from(rows), slots(hit * rows);
  std::iota(from.begin(), from.end(), 0u);
  std::iota(slots.begin(), slots.end(), 0u);
  size_t next = 0;
  for (auto _ : state) {
    std::vector<expert_rows> work;
    for (size_t i = 0; i < hit; ++i)
      work.push_back({&ffns[next++ % experts], from,
                      std::span(slots).subspan(i * rows, rows)});
    moe_ffn(work, as_activation(x.data(), rows, hidden),
            as_output(y.data(), hit * rows, hidden), pool());
  }
  const double weights = static_cast<double>(hit * ffns.front().size_bytes());
  count_cold(state, weights, weights * static_cast<double>(rows));
}

/// A large matmul with cold weights (an output head). Args: rows.
void cold_matmul(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  constexpr size_t outputs = 151936;
  static const auto w = some_weight(outputs, hidden, best_isa());
  static_cast<void>(read_bandwidth());
  const auto x = some_values(rows * hidden);
  aligned_buffer y(rows * outputs * sizeof(float));
  for (auto _ : state)
    matmul(w, as_activation(x.data(), rows, hidden),
           {y.as<float>().data(), rows, outputs, outputs}, pool());
  const auto weights = static_cast<double>(w.size_bytes());
  count_cold(state, weights, weights * static_cast<double>(rows));
}

/// Random weights in a format, as stored or (`expanded`) in bf16.
struct weight_bench {
  size_t outputs = 1536, inputs = 2048;
  weight_format format = weight_format::fp8_block;

  std::vector<packed_weight> make(size_t count, isa level) const {
    const compute_options options{level, numeric_mode::bf16};
    if (format == weight_format::plain) {
      const auto values = some_values(outputs * inputs);
      return pack(count, as_activation(values.data(), outputs, inputs),
                  options);
    }
    std::vector<uint8_t> codes(outputs *
                               quantised_view::row_bytes(format, inputs));
    uint32_t state = 1;
    for (auto& code : codes) {
      state = state * 1664525u + 1013904223u;
      code = static_cast<uint8_t>(state >> 25); // no NaN among FP8's
    }
    const size_t scales = outputs * quantised_view::row_scales(format, inputs);
    if (format == weight_format::mxfp4) {
      const std::vector<uint8_t> bytes(scales, 120);
      return pack(count, as_mxfp4(codes.data(), bytes.data(), outputs, inputs),
                  options);
    }
    const std::vector<float> floats(scales, 0.01f);
    return pack(count, as_fp8(codes.data(), floats.data(), outputs, inputs),
                options);
  }

private:
  template <class Source>
  static std::vector<packed_weight> pack(size_t count, const Source& source,
                                         compute_options options) {
    std::vector<packed_weight> all;
    for (size_t i = 0; i < count; ++i)
      all.push_back(packed_weight::pack(source, options));
    return all;
  }
};

/// One thread, weights from memory: as stored, or expanded when they were
/// loaded (format 0). Args: format, rows, isa.
void cold_format(benchmark::State& state) {
  constexpr size_t count = 48; // 300 MB of bf16
  const auto rows = static_cast<size_t>(state.range(1));
  const auto level = static_cast<isa>(state.range(2));
  if (!supported(level))
    return state.SkipWithError("this machine lacks the ISA");
  weight_bench bench;
  bench.format = static_cast<weight_format>(state.range(0));
  const auto weights = bench.make(count, level);
  lanes alone({.count = 0});
  const auto x = some_values(rows * bench.inputs);
  aligned_buffer y(rows * bench.outputs * sizeof(float));
  size_t next = 0;
  for (auto _ : state)
    matmul(weights[next++ % count], as_activation(x.data(), rows, bench.inputs),
           {y.as<float>().data(), rows, bench.outputs, bench.outputs}, alone);
  const double elements = static_cast<double>(bench.outputs * bench.inputs);
  count_work(state, static_cast<double>(weights.front().size_bytes()),
             2 * elements * static_cast<double>(rows));
  state.counters["bytes"] =
    benchmark::Counter(static_cast<double>(weights.front().size_bytes()));
}

/// Packing at load, one thread.
void pack(benchmark::State& state) {
  const auto source = some_values(expert_size * hidden);
  const compute_options options{best_isa(), numeric_mode::bf16};
  aligned_buffer memory(
    packed_weight::bytes_needed(expert_size, hidden, options));
  for (auto _ : state)
    packed_weight::pack_into({memory.data(), memory.size_bytes()},
                             as_activation(source.data(), expert_size, hidden),
                             options);
  count_work(state, static_cast<double>(memory.size_bytes()), 0);
}

/// An empty region: what a round of tasks costs.
void empty_region(benchmark::State& state) {
  for (auto _ : state)
    pool().parallel_for(pool().count(), [](size_t, size_t) {});
}

constexpr auto scalar = static_cast<long>(isa::scalar),
               avx2 = static_cast<long>(isa::avx2),
               avx512 = static_cast<long>(isa::avx512),
               amx = static_cast<long>(isa::amx);

BENCHMARK(hot_tile)
  ->ArgNames({"K", "rows", "isa"})
  ->ArgsProduct({{768, 2048}, {1, 4, 16, 32, 64, 128}, {amx}})
  ->ArgsProduct({{2048}, {1, 4, 16, 64}, {avx512, avx2}})
  ->Args({768, 1, scalar});
BENCHMARK(cold_experts)
  ->ArgNames({"experts", "rows", "isa"})
  ->ArgsProduct({{top_k}, {1, 4, 16, 32, 64, 128}, {amx}})
  ->ArgsProduct({{top_k}, {1, 4}, {avx512, avx2}})
  ->UseRealTime();
BENCHMARK(cold_matmul)->Arg(1)->Arg(16)->UseRealTime();
BENCHMARK(cold_format)
  ->ArgNames({"format", "rows", "isa"})
  ->ArgsProduct({{0, 1, 2}, {1, 4, 16, 64, 256}, {amx, avx512, avx2}})
  ->UseRealTime();
BENCHMARK(pack);
BENCHMARK(empty_region)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
