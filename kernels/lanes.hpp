// The compute threads. A fixed pool runs jobs; inside a job `parallel_for`
// spreads tasks over this thread and every lane that is idle, so one job alone
// uses all cores and several jobs share them.
//
//   actor -> post(job) -> [queue] -> lane: job -> parallel_for(tasks)
//                                                  \-> idle lanes join in
//
// Lanes spin briefly when out of work, then park. They flush denormals.
#pragma once

#include "kernels/tensor.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace troupe::kernels {

/// Binds each lane to one of the cores the process may use.
enum class pin_lanes : uint8_t { no, yes };

/// What the destructor does with jobs that have not started.
enum class on_shutdown : uint8_t { finish_jobs, drop_jobs };

struct lanes_options {
  size_t count = 1; ///< Threads. 0: everything runs on the caller (tests).
  pin_lanes pin = pin_lanes::no;
  std::chrono::microseconds spin{50}; ///< Before an idle lane parks.
  size_t queue_capacity = 1024;       ///< Jobs waiting; more are refused.
  on_shutdown shutdown = on_shutdown::finish_jobs;
};

/// A task: its number in [0, tasks) and the slot it runs on in [0, slots()).
class task_ref {
public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, task_ref>)
    task_ref(F&& f) // NOLINT: implicit, like a function reference
    : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
      call_([](void* object, size_t task, size_t lane) {
        (*static_cast<std::remove_reference_t<F>*>(object))(task, lane);
      }) {
  }
  void operator()(size_t task, size_t lane) const {
    call_(object_, task, lane);
  }

private:
  void* object_;
  void (*call_)(void*, size_t, size_t);
};

class lanes {
public:
  explicit lanes(lanes_options options);
  ~lanes();
  lanes(const lanes&) = delete;
  lanes& operator=(const lanes&) = delete;

  /// The number of threads, as asked for.
  size_t count() const;

  /// Slots for per-thread memory: one per lane and one for a thread outside
  /// of the pool that calls `parallel_for`.
  size_t slots() const {
    return count() + 1;
  }

  /// Queues `job`; false when the queue is full or the pool is closing. An
  /// exception that leaves a job ends the process: jobs report by message.
  bool post(std::function<void()> job);

  /// Runs `fn(task, lane)` for every task on this thread and on idle lanes, and
  /// returns when all have run. The first exception of a task is rethrown here
  /// (tasks not yet started are skipped then). Not to be called from a task.
  /// Threads outside of the pool take turns.
  void parallel_for(size_t tasks, task_ref fn);

  /// The calling thread's claim to a slot, with memory that is reused from call
  /// to call. Kernels take one for the time of a call.
  class seat {
  public:
    explicit seat(lanes& owner);
    ~seat();
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;

    /// At least `bytes` on a 64-byte boundary, shared by the tasks of this
    /// call; valid until the next `scratch` of a seat on this slot.
    std::byte* scratch(size_t bytes);

    size_t slot() const {
      return slot_;
    }

  private:
    lanes& owner_;
    size_t slot_;
    uint32_t saved_flags_ = 0;
  };

  /// At least `bytes` of memory for the task that runs on `lane`; valid until
  /// the next call for that lane.
  std::byte* task_scratch(size_t lane, size_t bytes);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe::kernels
