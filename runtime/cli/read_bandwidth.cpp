#include "runtime/cli/read_bandwidth.hpp"

#include "kernels/tensor.hpp"
#include "runtime/assert.hpp"
#include "runtime/clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>

namespace troupe::cli {

namespace {

constexpr size_t buffer_bytes = size_t{512} << 20;
constexpr size_t piece_bytes = size_t{4} << 20;
constexpr int rounds = 5;

/// How far ahead lines are asked for: the hardware alone does not keep enough
/// of them on the way.
constexpr size_t ahead = 4096 / sizeof(uint64_t);

/// Several sums, so that no addition waits for the one before.
uint64_t sum_of(const uint64_t* x, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    __builtin_prefetch(x + i + ahead);
    for (size_t j = 0; j < 8; ++j)
      sums[j] += x[i + j];
  }
  uint64_t all = 0;
  for (auto s : sums)
    all += s;
  return all;
}

} // namespace

double measure_read_bandwidth(kernels::lanes& pool) {
  kernels::aligned_buffer memory{buffer_bytes};
  const auto words = memory.as<uint64_t>();
  constexpr auto piece = piece_bytes / sizeof(uint64_t);
  const auto pieces = words.size() / piece;
  std::atomic<uint64_t> sum{0};
  double best = 0;
  run_on_lane(pool, [&] {
    // Fresh pages are all the same zero page until they are written to.
    pool.parallel_for(pieces, [&](size_t i, size_t) {
      std::memset(words.data() + i * piece, 1, piece_bytes);
    });
    for (int round = 0; round < rounds; ++round) {
      const auto start = steady::now();
      pool.parallel_for(pieces, [&](size_t i, size_t) {
        sum += sum_of(words.data() + i * piece, piece);
      });
      const std::chrono::duration<double> took = steady::now() - start;
      best = std::max(best, static_cast<double>(buffer_bytes) / took.count());
    }
  });
  TROUPE_ASSERT(sum != 0); // so that the reads are not optimised away
  return best;
}

void run_on_lane(kernels::lanes& pool, const std::function<void()>& job) {
  std::promise<void> done;
  const auto posted = pool.post([&] {
    job();
    done.set_value();
  });
  TROUPE_ASSERT(posted);
  done.get_future().wait();
}

} // namespace troupe::cli
