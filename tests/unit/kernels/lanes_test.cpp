// The pool of compute threads: every task once, several jobs at once, failures,
// and shutdown. Also meant to be run under ThreadSanitizer.
#include "kernels/lanes.hpp"

#include "kernels/isa.hpp"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace troupe::kernels;

BOOST_AUTO_TEST_SUITE(lanes_test)

BOOST_AUTO_TEST_CASE(every_task_runs_once_on_a_slot_of_its_own) {
  for (const size_t count : {0u, 1u, 2u, 3u, 5u}) {
    lanes pool({.count = count});
    for (const size_t tasks : {0u, 1u, 2u, 7u, 100u}) {
      std::vector<std::atomic<int>> runs(tasks), busy(pool.slots());
      std::atomic<bool> shared = false;
      pool.parallel_for(tasks, [&](size_t task, size_t lane) {
        if (busy.at(lane).fetch_add(1) != 0)
          shared = true;
        ++runs.at(task);
        busy[lane].fetch_sub(1);
      });
      BOOST_TEST(std::ranges::all_of(runs, [](auto& n) { return n == 1; }));
      BOOST_TEST(!shared);
    }
  }
}

BOOST_AUTO_TEST_CASE(idle_lanes_join_a_region) {
  lanes pool({.count = 2});
  // Two tasks that wait for each other end only when two threads run them.
  std::atomic<int> arrived = 0;
  pool.parallel_for(2, [&](size_t, size_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  BOOST_TEST(arrived == 2);
}

BOOST_AUTO_TEST_CASE(several_jobs_spread_tasks_at_the_same_time) {
  for (const size_t count : {1u, 2u, 3u}) {
    constexpr size_t jobs = 100, tasks = 20;
    std::vector<std::atomic<size_t>> sums(jobs);
    std::vector<std::promise<void>> done(jobs);
    lanes pool({.count = count, .spin = std::chrono::microseconds{5}});
    for (size_t job = 0; job < jobs; ++job)
      BOOST_REQUIRE(pool.post([&, job] {
        for (int round = 0; round < 3; ++round)
          pool.parallel_for(tasks,
                            [&](size_t task, size_t) { sums[job] += task; });
        done[job].set_value();
      }));
    for (auto& each : done)
      each.get_future().wait();
    for (auto& sum : sums)
      BOOST_TEST(sum == 3 * tasks * (tasks - 1) / 2);
  }
}

BOOST_AUTO_TEST_CASE(outside_threads_take_turns) {
  lanes pool({.count = 2});
  std::atomic<size_t> total = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        lanes::seat seat(pool);
        auto* memory = reinterpret_cast<size_t*>(seat.scratch(64));
        *memory = 1;
        pool.parallel_for(8, [&](size_t, size_t) { total += *memory; });
      }
    });
  for (auto& caller : callers)
    caller.join();
  BOOST_TEST(total == 3u * 50u * 8u);
}

BOOST_AUTO_TEST_CASE(the_failure_of_a_task_reaches_the_caller) {
  for (const size_t count : {0u, 1u, 2u}) {
    lanes pool({.count = count});
    BOOST_CHECK_THROW(pool.parallel_for(50,
                                        [](size_t task, size_t) {
                                          if (task == 17)
                                            throw std::runtime_error("task");
                                        }),
                      std::runtime_error);
    std::atomic<int> runs = 0;
    pool.parallel_for(5, [&](size_t, size_t) { ++runs; });
    BOOST_TEST(runs == 5);
  }
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_a_job) {
  // Outlive the pool: its lane may still be inside of set_value.
  std::promise<void> started, gate;
  lanes pool({.count = 1, .queue_capacity = 2});
  auto opened = gate.get_future().share();
  BOOST_REQUIRE(pool.post([&] {
    started.set_value();
    opened.wait();
  }));
  started.get_future().wait();
  BOOST_TEST(pool.post([] {}));
  BOOST_TEST(pool.post([] {}));
  BOOST_TEST(!pool.post([] {}));
  gate.set_value();
}

BOOST_AUTO_TEST_CASE(shutdown_finishes_jobs_that_wait) {
  std::atomic<int> runs = 0;
  {
    lanes pool({.count = 1, .shutdown = on_shutdown::finish_jobs});
    for (int i = 0; i < 5; ++i)
      pool.post([&] { ++runs; });
  }
  BOOST_TEST(runs == 5);
}

BOOST_AUTO_TEST_CASE(shutdown_can_drop_jobs_that_wait) {
  std::atomic<int> runs = 0;
  {
    std::promise<void> started, gate;
    auto opened = gate.get_future().share();
    lanes pool({.count = 1, .shutdown = on_shutdown::drop_jobs});
    pool.post([&started, opened] {
      started.set_value();
      opened.wait();
    });
    started.get_future().wait();
    // The lane is held until the job below is destroyed.
    std::shared_ptr<void> opener(nullptr, [&](void*) { gate.set_value(); });
    for (int i = 0; i < 5; ++i)
      pool.post([&runs, kept = opener] { ++runs; });
    opener.reset();
  }
  BOOST_TEST(runs == 0);
}

BOOST_AUTO_TEST_CASE(lanes_and_callers_flush_denormals) {
  lanes pool({.count = 2});
  std::atomic<int> flushed = 0;
  pool.parallel_for(64, [&](size_t, size_t) {
    volatile float x = std::numeric_limits<float>::min();
    flushed += x / 2 == 0.0f;
  });
  BOOST_TEST(flushed == 64);
  volatile float x = std::numeric_limits<float>::min();
  BOOST_TEST(x / 2 > 0.0f);
}

BOOST_AUTO_TEST_CASE(scratch_of_a_slot_grows_and_is_aligned) {
  lanes pool({.count = 1});
  for (const size_t bytes : {10u, 5000u, 100u, 3000000u}) {
    auto* memory = pool.task_scratch(1, bytes);
    BOOST_TEST(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
    std::fill_n(memory, bytes, std::byte{1});
  }
}

BOOST_AUTO_TEST_SUITE_END()
