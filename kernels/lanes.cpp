// One mutex guards the job queue and the list of open regions (calls of
// parallel_for); tasks inside a region are claimed with an atomic counter. A
// region lives on its caller's stack: a lane may touch it only while counted in
// `region::helpers`, and the caller leaves only when that count is zero.
#include "kernels/lanes.hpp"

#include "kernels/isa.hpp"
#include "runtime/assert.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <immintrin.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>
#include <xmmintrin.h>

namespace troupe::kernels {

namespace {

struct region {
  region(size_t count, task_ref f) : tasks(count), fn(f) {
  }

  /// Runs tasks until none is left.
  void work(size_t lane) {
    for (;;) {
      const size_t task = next.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks)
        return;
      try {
        fn(task, lane);
      } catch (...) {
        record_failure();
      }
    }
  }

  bool has_tasks() const {
    return next.load(std::memory_order_relaxed) < tasks;
  }

  void record_failure() {
    if (!failed.exchange(true))
      failure = std::current_exception();
    next.store(tasks, std::memory_order_relaxed);
  }

  const size_t tasks;
  const task_ref fn;
  std::atomic<size_t> next = 0;
  std::atomic<size_t> helpers = 0; ///< Raised under the pool's mutex.
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
};

struct slot_memory {
  aligned_buffer call;
  aligned_buffer task;
};

std::byte* grow(aligned_buffer& buffer, size_t bytes) {
  if (buffer.size_bytes() < bytes)
    buffer = aligned_buffer(std::max(bytes, 2 * buffer.size_bytes()));
  return buffer.data();
}

/// Binds the calling thread to the (index modulo size)-th of the cores that
/// the process may use. A refusal costs speed only.
void pin_to_core(size_t index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  const auto count = static_cast<size_t>(CPU_COUNT(&allowed));
  size_t wanted = count == 0 ? 0 : index % count;
  for (size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || wanted-- != 0)
      continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

} // namespace

struct lanes::state {
  explicit state(lanes_options o) : options(o), memory(o.count + 1) {
  }

  using clock = std::chrono::steady_clock;

  void run_lane(size_t lane);
  bool run_something(size_t lane);
  void spin_until_changed(uint64_t seen) const;
  void park(uint64_t seen);
  void announce(std::unique_lock<std::mutex> held, size_t wanted);
  void wait_for_helpers(region& r);
  region* open_region();
  size_t slot_of_caller() const;

  const lanes_options options;
  std::mutex mutex;
  std::condition_variable work_came;
  std::condition_variable helper_left;
  std::deque<std::function<void()>> jobs;
  std::vector<region*> regions;
  size_t parked = 0;
  bool closing = false;
  std::atomic<uint64_t> changes = 0; ///< Counts news; raised under the mutex.
  std::recursive_mutex outside; ///< Threads outside of the pool take turns.
  std::vector<slot_memory> memory;
  std::vector<std::thread> threads;
  std::vector<std::thread::id> ids; ///< Of `threads`; set before they work.
};

// -- lanes -------------------------------------------------------------------

lanes::lanes(lanes_options options) : state_(std::make_unique<state>(options)) {
  state_->threads.reserve(options.count);
  // Lanes look themselves up in `ids`: none may start before all are in.
  const std::unique_lock held(state_->mutex);
  for (size_t lane = 0; lane < options.count; ++lane) {
    state_->threads.emplace_back(
      [s = state_.get(), lane] { s->run_lane(lane); });
    state_->ids.push_back(state_->threads.back().get_id());
  }
}

lanes::~lanes() {
  std::deque<std::function<void()>> dropped;
  {
    std::unique_lock held(state_->mutex);
    state_->closing = true;
    if (state_->options.shutdown == on_shutdown::drop_jobs)
      dropped.swap(state_->jobs);
    state_->announce(std::move(held), count());
  }
  // Outside of the lock: what a job holds may come back to the pool.
  dropped.clear();
  for (auto& thread : state_->threads)
    thread.join();
}

size_t lanes::count() const {
  return state_->options.count;
}

bool lanes::post(std::function<void()> job) {
  TROUPE_ASSERT(job != nullptr);
  if (count() == 0) {
    const seat here(*this);
    job();
    return true;
  }
  std::unique_lock held(state_->mutex);
  if (state_->closing || state_->jobs.size() >= state_->options.queue_capacity)
    return false;
  state_->jobs.push_back(std::move(job));
  state_->announce(std::move(held), 1);
  return true;
}

void lanes::parallel_for(size_t tasks, task_ref fn) {
  if (tasks == 0)
    return;
  const seat here(*this);
  region r(tasks, fn);
  const bool alone = tasks == 1 || count() == 0;
  if (!alone) {
    std::unique_lock held(state_->mutex);
    state_->regions.push_back(&r);
    state_->announce(std::move(held), tasks - 1);
  }
  r.work(here.slot());
  if (!alone)
    state_->wait_for_helpers(r);
  if (r.failure)
    std::rethrow_exception(r.failure);
}

std::byte* lanes::task_scratch(size_t lane, size_t bytes) {
  TROUPE_ASSERT(lane < slots());
  return grow(state_->memory[lane].task, bytes);
}

// -- seat --------------------------------------------------------------------

lanes::seat::seat(lanes& owner)
  : owner_(owner), slot_(owner.state_->slot_of_caller()) {
  if (slot_ != owner_.count())
    return;
  owner_.state_->outside.lock();
  saved_flags_ = _mm_getcsr();
  set_flush_denormals();
}

lanes::seat::~seat() {
  if (slot_ != owner_.count())
    return;
  _mm_setcsr(saved_flags_);
  owner_.state_->outside.unlock();
}

std::byte* lanes::seat::scratch(size_t bytes) {
  return grow(owner_.state_->memory[slot_].call, bytes);
}

// -- state -------------------------------------------------------------------

void lanes::state::run_lane(size_t lane) {
  set_flush_denormals();
  if (options.pin == pin_lanes::yes)
    pin_to_core(lane);
  for (;;) {
    const uint64_t seen = changes.load(std::memory_order_acquire);
    if (run_something(lane))
      continue;
    {
      const std::unique_lock held(mutex);
      if (closing && jobs.empty())
        return;
    }
    spin_until_changed(seen);
    park(seen);
  }
}

/// Helps an open region, or runs a job: work that has begun comes first.
bool lanes::state::run_something(size_t lane) {
  std::unique_lock held(mutex);
  if (auto* r = open_region()) {
    r->helpers.fetch_add(1, std::memory_order_relaxed);
    held.unlock();
    r->work(lane);
    // Once this count is down, `r` may be gone.
    if (r->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      held.lock();
      helper_left.notify_all();
    }
    return true;
  }
  if (jobs.empty())
    return false;
  auto job = std::move(jobs.front());
  jobs.pop_front();
  held.unlock();
  [&]() noexcept { job(); }();
  return true;
}

region* lanes::state::open_region() {
  const auto found = std::ranges::find_if(
    regions, [](const region* r) { return r->has_tasks(); });
  return found == regions.end() ? nullptr : *found;
}

void lanes::state::spin_until_changed(uint64_t seen) const {
  const auto end = clock::now() + options.spin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (changes.load(std::memory_order_relaxed) != seen)
        return;
      _mm_pause();
    }
  } while (clock::now() < end);
}

void lanes::state::park(uint64_t seen) {
  std::unique_lock held(mutex);
  ++parked;
  work_came.wait(
    held, [&] { return changes.load(std::memory_order_relaxed) != seen; });
  --parked;
}

/// Tells spinning and parked lanes that there is work for `wanted` of them.
void lanes::state::announce(std::unique_lock<std::mutex> held, size_t wanted) {
  changes.fetch_add(1, std::memory_order_release);
  const size_t sleepers = parked;
  held.unlock();
  if (sleepers == 0)
    return;
  if (wanted == 1)
    work_came.notify_one();
  else
    work_came.notify_all();
}

/// Closes `r` to new helpers, then waits until those inside have left.
void lanes::state::wait_for_helpers(region& r) {
  {
    const std::unique_lock held(mutex);
    std::erase(regions, &r);
  }
  const auto left = [&] {
    return r.helpers.load(std::memory_order_acquire) == 0;
  };
  const auto end = clock::now() + options.spin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (left())
        return;
      _mm_pause();
    }
  } while (clock::now() < end);
  std::unique_lock held(mutex);
  helper_left.wait(held, left);
}

size_t lanes::state::slot_of_caller() const {
  const auto me = std::this_thread::get_id();
  return static_cast<size_t>(std::ranges::find(ids, me) - ids.begin());
}

} // namespace troupe::kernels
