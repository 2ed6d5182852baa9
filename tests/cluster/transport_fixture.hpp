// A small protocol and two ends of a guarded connection for the transport's
// cluster tests. Every wait has a bound.
#pragma once

#include "actors/transport/cluster_system.hpp"
#include "actors/transport/connect.hpp"
#include "actors/transport/listen.hpp"
#include "actors/transport/wire_tensor.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ping {
  uint64_t number = 0;
};
struct pong {
  uint64_t number = 0;
};
/// A piece of a large payload.
struct piece {
  uint32_t index = 0;
  shared_bytes bytes;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ping& x) {
  return f(caf::meta::type_name("ping"), x.number);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, pong& x) {
  return f(caf::meta::type_name("pong"), x.number);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, piece& x) {
  return f(caf::meta::type_name("piece"), x.index, x.bytes);
}

inline void add_test_messages(caf::actor_system_config& config) {
  config.add_message_type<ping>("ping");
  config.add_message_type<pong>("pong");
  config.add_message_type<piece>("piece");
}

/// Bounds that make the tests quick.
inline cluster_options quick_options() {
  cluster_options o;
  o.scheduler_threads = 1;
  o.heartbeat_interval = milliseconds{100};
  o.transport.timeout = milliseconds{1000};
  o.transport.connections.handshake_deadline = milliseconds{400};
  o.transport.connections.linger = milliseconds{300};
  o.transport.connections.pending = 8;
  return o;
}

/// Answers each ping to its sender.
inline caf::behavior echo(caf::event_based_actor* self) {
  use_quiet_handlers(*self);
  return {
    [self](const ping& x) {
      if (auto sender = self->current_sender())
        self->send(caf::actor_cast<caf::actor>(sender), pong{x.number});
    },
  };
}

/// Spawns an actor by its function. The argument is there for
/// UndefinedBehaviorSanitizer: without any, CAF binds a reference to an empty
/// tuple that does not exist.
template <class F>
caf::actor spawn_by(caf::actor_system& system, F f) {
  return system.spawn([](caf::event_based_actor* self,
                         F make) -> caf::behavior { return make(self); },
                      std::move(f));
}

/// A listening process that echoes.
struct test_head {
  explicit test_head(const cluster_options& o = quick_options())
    : cluster(o, add_test_messages) {
    start(spawn_by(cluster.system(), echo), {"ping"});
  }

  test_head(const cluster_options& o,
            caf::behavior (*f)(caf::event_based_actor*),
            const std::vector<std::string>& messages)
    : cluster(o, add_test_messages) {
    start(spawn_by(cluster.system(), f), messages);
  }

  ~test_head() {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    actor = nullptr;
    cluster.shutdown(seconds{20}, 1);
  }

  void start(caf::actor x, const std::vector<std::string>& messages) {
    actor = std::move(x);
    cluster.transport()->from_nodes->allow(actor.id(), messages);
    listen_options o;
    o.port = 0;
    auto bound =
      listen(cluster, caf::actor_cast<caf::strong_actor_ptr>(actor), o);
    BOOST_REQUIRE(bound.has_value());
    port = *bound;
  }

  cluster_system cluster;
  caf::actor actor;
  uint16_t port = 0;
};

/// A process that dials.
struct test_node {
  explicit test_node(const cluster_options& o = quick_options())
    : cluster(o, add_test_messages) {
    cluster.transport()->from_head->allow_any({"pong", "piece"});
  }

  ~test_node() {
    cluster.shutdown(seconds{20}, 1);
  }

  std::future<result<remote_head>> dial(uint16_t port,
                                        duration deadline = seconds{10}) {
    auto promise = std::make_shared<std::promise<result<remote_head>>>();
    connect_options o;
    o.port = port;
    o.deadline = deadline;
    connect(
      cluster.system(), cluster.transport(), o,
      [promise](result<remote_head> x) { promise->set_value(std::move(x)); });
    return promise->get_future();
  }

  /// Dials and sends one ping. Returns whether the pong came in time. Tries
  /// again after a refusal, as a node does: a busy machine can make a head miss
  /// the test's short deadlines.
  bool is_served(uint16_t port) {
    auto end = steady::now() + seconds{20};
    while (steady::now() < end) {
      auto head = dial(port).get();
      if (head && answers(head->actor))
        return true;
      if (!head)
        BOOST_TEST_MESSAGE(head.error().message);
      std::this_thread::sleep_for(milliseconds{50});
    }
    return false;
  }

  bool answers(const caf::strong_actor_ptr& head) {
    auto promise = std::make_shared<std::promise<uint64_t>>();
    auto asker = spawn_by(cluster.system(), [=](caf::event_based_actor* self) {
      use_quiet_handlers(*self);
      self->send(caf::actor_cast<caf::actor>(head), ping{77});
      return caf::behavior{
        [=](const pong& x) {
          promise->set_value(x.number);
          self->quit();
        },
      };
    });
    auto answer = promise->get_future();
    bool in_time = answer.wait_for(seconds{10}) == std::future_status::ready;
    caf::anon_send_exit(asker, caf::exit_reason::user_shutdown);
    return in_time && answer.get() == 77;
  }

  cluster_system cluster;
};

/// Waits until `condition` holds; false when it does not within `limit`.
template <class Predicate>
bool eventually(Predicate condition, duration limit = seconds{20}) {
  auto end = steady::now() + limit;
  while (!condition()) {
    if (steady::now() >= end)
      return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

} // namespace troupe::testing
