// Configuration of CAF for the cluster, and a shutdown that always ends: CAF's
// destructor waits for actors and for sockets that still have data to send.
#include "actors/transport/cluster_system.hpp"

#include "actors/transport/guarded_scribe.hpp"
#include "actors/transport/transport_timer.hpp"
#include "actors/transport/unique_middleman.hpp"
#include "runtime/assert.hpp"

#include <caf/binary_serializer.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace troupe {

namespace {

class cluster_config : public caf::actor_system_config {
public:
  cluster_config(const cluster_options& o,
                 const cluster_system::configure& setup) {
    auto span = [](duration x) {
      return caf::timespan{
        std::chrono::duration_cast<std::chrono::nanoseconds>(x)};
    };
    // `sharing` wakes faster than `stealing` and does not poll when idle.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", o.scheduler_threads);
    set("scheduler.max-throughput", o.max_throughput);
    // Decode in the I/O thread: busy scheduler threads must not delay messages.
    set("middleman.workers", size_t{0});
    set("middleman.heartbeat-interval", span(o.heartbeat_interval));
    set("middleman.connection-timeout", span(o.transport.timeout));
    set("middleman.app-identifiers", std::vector<std::string>{"troupe"});
    set("middleman.enable-automatic-connections", false);
    set("logger.verbosity", caf::atom("quiet"));
    set("logger.console", caf::atom("none"));
    if (setup)
      setup(*this);
    load<unique_middleman>();
  }
};

basp::node_key key_of(caf::actor_system& sys) {
  std::vector<char> buffer;
  caf::binary_serializer sink{sys, buffer};
  auto err = sink(sys.node());
  basp::node_key key;
  TROUPE_ASSERT(!err && buffer.size() == key.size());
  std::memcpy(key.data(), buffer.data(), key.size());
  return key;
}

/// Ends the process when the guarded code takes too long.
class exit_watchdog {
public:
  exit_watchdog(duration limit, int exit_code,
                std::shared_ptr<transport_state> state)
    : thread_([this, limit, exit_code, state = std::move(state)] {
        // Connections get half of the time to send what they hold; a peer that
        // does not read would keep the I/O thread alive for ever.
        if (done_within(limit / 2))
          return;
        state->connections.cut_all();
        if (done_within(limit - limit / 2))
          return;
        std::fflush(nullptr);
        ::_exit(exit_code);
      }) {
    // nop
  }

  ~exit_watchdog() {
    {
      std::lock_guard guard{mutex_};
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

private:
  bool done_within(duration limit) {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, limit, [this] { return done_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_; // Last: the others exist before it runs.
};

} // namespace

struct cluster_system::impl {
  impl(const cluster_options& options, const configure& setup)
    : config(options, setup),
      system(std::make_unique<caf::actor_system>(config)),
      state(
        std::make_shared<transport_state>(options.transport, key_of(*system))),
      timer(spawn_transport_timer(*system, state)) {
    // nop
  }

  cluster_config config;
  std::unique_ptr<caf::actor_system> system;
  std::shared_ptr<transport_state> state;
  caf::actor timer;
};

cluster_system::cluster_system(const cluster_options& options,
                               const configure& setup)
  : impl_(std::make_unique<impl>(options, setup)) {
  // nop
}

cluster_system::~cluster_system() {
  shutdown(std::chrono::seconds{10}, 1);
}

caf::actor_system& cluster_system::system() {
  TROUPE_ASSERT(impl_->system != nullptr);
  return *impl_->system;
}

const std::shared_ptr<transport_state>& cluster_system::transport() const {
  return impl_->state;
}

std::array<uint8_t, 24> cluster_system::incarnation() const {
  std::array<uint8_t, 24> result;
  // Process id and host of the node id are random; what precedes them is not.
  static_assert(sizeof(basp::node_key) == 8 + sizeof(result));
  std::memcpy(result.data(), impl_->state->self.data() + 8, result.size());
  return result;
}

void cluster_system::shutdown(duration limit, int exit_code) {
  if (impl_->system == nullptr)
    return;
  exit_watchdog watchdog{limit, exit_code, impl_->state};
  caf::anon_send_exit(impl_->timer, caf::exit_reason::user_shutdown);
  impl_->timer = nullptr;
  impl_->state->next_tick.take();
  impl_->system.reset();
}

void use_quiet_handlers(caf::scheduled_actor& self) {
  self.set_default_handler(caf::drop);
  self.set_down_handler([](caf::scheduled_actor*, caf::down_msg&) {});
  self.set_exit_handler([](caf::scheduled_actor* me, caf::exit_msg& x) {
    me->quit(std::move(x.reason));
  });
  self.set_exception_handler(
    [](caf::scheduled_actor*, std::exception_ptr& x) -> caf::error {
      try {
        std::rethrow_exception(x);
      } catch (const std::exception& e) {
        return caf::make_error(caf::sec::runtime_error, std::string{e.what()});
      } catch (...) {
        return caf::sec::runtime_error;
      }
    });
}

} // namespace troupe
