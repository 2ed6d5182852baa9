// Two processes over loopback: large payloads in pieces, peers that die or
// freeze, connects that nobody answers, and the end of a process.
#include "tests/cluster/raw_socket.hpp"
#include "tests/cluster/transport_fixture.hpp"

#include <atomic>
#include <csignal>
#include <sys/wait.h>

using namespace troupe;
using namespace troupe::testing;

namespace {

duration since(time_point start) {
  return steady::now() - start;
}

// -- a process of its own -----------------------------------------------------

/// A head in a child process. Fork while this process has no threads.
class forked_head {
public:
  forked_head() {
    int pipe_ends[2];
    BOOST_REQUIRE(::pipe(pipe_ends) == 0);
    child_ = ::fork();
    if (child_ == 0)
      run(pipe_ends[1]);
    ::close(pipe_ends[1]);
    BOOST_REQUIRE(::read(pipe_ends[0], &port, sizeof(port)) == sizeof(port));
    ::close(pipe_ends[0]);
  }

  ~forked_head() {
    signal(SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  void signal(int number) {
    ::kill(child_, number);
  }

  uint16_t port = 0;

private:
  [[noreturn]] static void run(int out) {
    test_head head;
    if (::write(out, &head.port, sizeof(head.port)) != sizeof(head.port))
      ::_exit(1);
    while (true)
      ::pause();
  }

  pid_t child_ = -1;
};

/// Runs `f` in a child process and returns its exit status, or -1 when a signal
/// ended it.
template <class F>
int exit_status_of(F f) {
  auto child = ::fork();
  if (child == 0) {
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Waits for the end of an actor. A monitor does not keep its owner alive, so
/// this holds the actor that waits.
class death_watch {
public:
  death_watch(caf::actor_system& sys, const caf::strong_actor_ptr& whom)
    : reason_(promise_->get_future()) {
    watcher_ =
      spawn_by(sys, [whom, promise = promise_](caf::event_based_actor* self) {
        self->monitor(whom);
        self->set_down_handler([self, promise](caf::down_msg& x) {
          promise->set_value(x.reason);
          self->quit();
        });
        return caf::behavior{[](const pong&) {}};
      });
  }

  ~death_watch() {
    caf::anon_send_exit(watcher_, caf::exit_reason::user_shutdown);
  }

  bool reported_within(duration limit) {
    return reason_.wait_for(limit) == std::future_status::ready;
  }

  caf::error reason() {
    return reason_.get();
  }

private:
  std::shared_ptr<std::promise<caf::error>> promise_ =
    std::make_shared<std::promise<caf::error>>();
  std::future<caf::error> reason_;
  caf::actor watcher_;
};

// -- large payloads -----------------------------------------------------------

constexpr size_t piece_bytes = 128 * 1024;

/// Sends every piece back.
caf::behavior piece_echo(caf::event_based_actor* self) {
  use_quiet_handlers(*self);
  return {
    [=](const piece& x) {
      self->send(caf::actor_cast<caf::actor>(self->current_sender()), x);
    },
    [=](const ping& x) { return pong{x.number}; },
  };
}

/// Sends `payload` in pieces to a `piece_echo`; waits until all are back, in
/// order, and returns them put together.
std::vector<std::byte> there_and_back(test_node& node,
                                      caf::strong_actor_ptr head,
                                      const shared_bytes& payload) {
  using bytes = std::vector<std::byte>;
  auto promise = std::make_shared<std::promise<bytes>>();
  spawn_by(node.cluster.system(), [=](caf::event_based_actor* self) {
    use_quiet_handlers(*self);
    uint32_t index = 0;
    for (size_t at = 0; at < payload.size(); at += piece_bytes)
      self->send(
        caf::actor_cast<caf::actor>(head),
        piece{index++,
              payload.slice(at, std::min(piece_bytes, payload.size() - at))});
    auto back = std::make_shared<bytes>();
    return caf::behavior{
      [=](const piece& x) {
        BOOST_TEST(x.index == back->size() / piece_bytes);
        auto got = x.bytes.bytes();
        back->insert(back->end(), got.begin(), got.end());
        if (back->size() < payload.size())
          return;
        promise->set_value(std::move(*back));
        self->quit();
      },
    };
  });
  auto answer = promise->get_future();
  BOOST_REQUIRE((answer.wait_for(seconds{30}) == std::future_status::ready));
  return answer.get();
}

shared_bytes random_payload(size_t size) {
  auto data = shared_bytes::allocate(size);
  uint64_t x = 88172645463325252ULL;
  for (size_t i = 0; i < size; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    data.get()[i] = static_cast<std::byte>(x);
  }
  return {data, size};
}

// -- ports that do not answer -------------------------------------------------

/// A listening socket that never accepts. With `full`, its backlog is full and
/// the kernel ignores further SYNs: a black hole.
class deaf_port {
public:
  enum class backlog : uint8_t { free, full };

  explicit deaf_port(backlog state)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    auto* address = reinterpret_cast<sockaddr*>(&at);
    BOOST_REQUIRE(::bind(fd_, address, size) == 0);
    BOOST_REQUIRE(::getsockname(fd_, address, &size) == 0);
    BOOST_REQUIRE(::listen(fd_, state == backlog::full ? 0 : 16) == 0);
    port = ntohs(at.sin_port);
    if (state == backlog::full)
      fill(at);
  }

  ~deaf_port() {
    ::close(fd_);
    for (int fd : filling_)
      ::close(fd);
  }

  uint16_t port = 0;

private:
  void fill(const sockaddr_in& at) {
    for (int i = 0; i < 4; ++i) {
      int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
      filling_.push_back(fd);
    }
  }

  int fd_;
  std::vector<int> filling_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(transport_link)

// -- processes that die, freeze or end (first: they fork) ---------------------

BOOST_AUTO_TEST_CASE(a_killed_peer_is_reported_at_once) {
  forked_head head;
  auto o = quick_options();
  o.transport.timeout = seconds{60}; // It must not be what reports.
  test_node node{o};
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  death_watch death{node.cluster.system(), peer->actor};
  BOOST_TEST(node.answers(peer->actor));
  head.signal(SIGKILL);
  BOOST_REQUIRE(death.reported_within(seconds{10}));
  BOOST_TEST((death.reason() == caf::exit_reason::remote_link_unreachable));
}

BOOST_AUTO_TEST_CASE(a_frozen_peer_is_reported_and_can_come_back) {
  forked_head head;
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  death_watch death{node.cluster.system(), peer->actor};
  head.signal(SIGSTOP);
  BOOST_REQUIRE(death.reported_within(seconds{20}));
  head.signal(SIGCONT);
  BOOST_TEST(eventually([&] { return node.is_served(head.port); }));
}

BOOST_AUTO_TEST_CASE(a_frozen_peer_with_unread_data_does_not_delay_the_end) {
  forked_head head;
  forked_head other;
  auto status = exit_status_of([&] {
    auto o = quick_options();
    o.transport.timeout = seconds{60}; // Leave it to the shutdown.
    test_node node{o};
    auto peer = node.dial(head.port).get();
    if (!peer)
      ::_exit(3);
    head.signal(SIGSTOP);
    piece big{0, random_payload(piece_bytes)};
    for (int i = 0; i < 256; ++i)
      caf::anon_send(caf::actor_cast<caf::actor>(peer->actor), big);
    peer = fail(ec::none, "");
    // CAF's broker takes one thing after the other: now it has taken all of it.
    if (!node.dial(other.port).get())
      ::_exit(4);
    // Cutting the connection must let CAF's destructor return before the limit.
    node.cluster.shutdown(seconds{6}, 5);
  });
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(a_clean_shutdown_returns) {
  auto status = exit_status_of([] {
    test_head head;
    test_node node;
    if (!node.is_served(head.port))
      ::_exit(3);
  });
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(an_actor_that_does_not_end_costs_the_limit_and_no_more) {
  auto start = steady::now();
  auto status = exit_status_of([] {
    cluster_system cluster{quick_options(), add_test_messages};
    auto stuck = spawn_by(cluster.system(), echo); // Nobody tells it to exit.
    cluster.shutdown(milliseconds{300}, 7);
    ::_exit(3);
  });
  BOOST_TEST(status == 7);
  BOOST_TEST((since(start) < seconds{20}));
}

// -- links --------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(sixteen_mebibytes_go_there_and_back_in_pieces) {
  test_head head{quick_options(), piece_echo, {"piece", "ping"}};
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  auto payload = random_payload(16 * 1024 * 1024);
  auto start = steady::now();
  auto back = there_and_back(node, peer->actor, payload);
  auto took = std::chrono::duration<double>(since(start)).count();
  BOOST_TEST((shared_bytes::copy_of(back) == payload));
  BOOST_TEST_MESSAGE("16 MiB there and back in " << took * 1000 << " ms");
  BOOST_TEST(node.answers(peer->actor));
  auto stats = node.cluster.transport()->connections.stats();
  BOOST_REQUIRE(stats.size() == 1U);
  BOOST_TEST(stats[0].bytes_in > payload.size());
  BOOST_TEST(stats[0].bytes_out > payload.size());
}

BOOST_AUTO_TEST_CASE(every_process_start_has_an_id_of_its_own) {
  test_node first;
  test_node second;
  BOOST_TEST((first.cluster.system().node() != second.cluster.system().node()));
  BOOST_TEST((first.cluster.incarnation() != second.cluster.incarnation()));
}

BOOST_AUTO_TEST_CASE(a_node_comes_back_after_its_connection_broke) {
  test_head head;
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  death_watch death{node.cluster.system(), peer->actor};
  node.cluster.transport()->connections.cut_all();
  BOOST_REQUIRE(death.reported_within(seconds{20}));
  BOOST_TEST(eventually([&] { return node.is_served(head.port); }));
}

BOOST_AUTO_TEST_CASE(many_nodes_are_served_at_once) {
  test_head head;
  std::vector<std::unique_ptr<test_node>> nodes;
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(std::make_unique<test_node>());
    BOOST_TEST(nodes.back()->is_served(head.port));
  }
  BOOST_TEST(head.cluster.transport()->connections.size() == 5U);
}

BOOST_AUTO_TEST_CASE(the_actors_end_is_reported_with_its_reason) {
  test_head head;
  test_node node;
  auto peer = node.dial(head.port).get();
  BOOST_REQUIRE(peer.has_value());
  death_watch death{node.cluster.system(), peer->actor};
  BOOST_TEST(node.answers(peer->actor));
  caf::anon_send(head.actor,
                 caf::exit_msg{head.actor.address(),
                               caf::make_error(caf::sec::runtime_error,
                                               std::string{"disk full"})});
  BOOST_REQUIRE(death.reported_within(seconds{20}));
  BOOST_TEST((death.reason() == caf::sec::runtime_error));
}

// -- connects -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_black_hole_costs_its_deadline_and_delays_nobody) {
  deaf_port hole{deaf_port::backlog::full};
  test_head head;
  test_node node;
  auto start = steady::now();
  auto lost = node.dial(hole.port, seconds{3});
  BOOST_TEST(node.dial(head.port, seconds{2}).get().has_value());
  BOOST_TEST((lost.wait_for(seconds{0}) == std::future_status::timeout));
  auto outcome = lost.get();
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((outcome.error().code == ec::deadline_exceeded));
  BOOST_TEST((since(start) >= milliseconds{2990}));
  BOOST_TEST((since(start) < seconds{10}));
}

BOOST_AUTO_TEST_CASE(a_peer_that_accepts_and_stays_silent_costs_the_deadline) {
  deaf_port silent{deaf_port::backlog::free};
  auto o = quick_options();
  o.heartbeat_interval = {};
  test_node node{o};
  auto outcome = node.dial(silent.port, milliseconds{400}).get();
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((outcome.error().code == ec::deadline_exceeded));
  auto& connections = node.cluster.transport()->connections;
  BOOST_TEST(eventually([&] { return connections.size() == 0; }));
}

BOOST_AUTO_TEST_CASE(silence_costs_the_deadline_with_heartbeats_too) {
  deaf_port silent{deaf_port::backlog::free};
  test_node node;
  auto start = steady::now();
  auto outcome = node.dial(silent.port, milliseconds{600}).get();
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((since(start) < seconds{10}));
}

BOOST_AUTO_TEST_CASE(a_closed_port_is_an_error_at_once) {
  uint16_t port = 0;
  {
    deaf_port gone{deaf_port::backlog::free};
    port = gone.port;
  }
  test_node node;
  auto outcome = node.dial(port).get();
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((outcome.error().code == ec::io));
}

BOOST_AUTO_TEST_CASE(an_unknown_host_is_an_error) {
  test_node node;
  auto promise = std::make_shared<std::promise<result<remote_head>>>();
  connect_options o;
  o.host = "no such host.invalid";
  connect(
    node.cluster.system(), node.cluster.transport(), o,
    [promise](result<remote_head> x) { promise->set_value(std::move(x)); });
  auto outcome = promise->get_future().get();
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((outcome.error().code == ec::not_found));
}

BOOST_AUTO_TEST_CASE(an_asking_actor_gets_the_outcome_as_a_message) {
  test_head head;
  test_node node;
  auto promise = std::make_shared<std::promise<bool>>();
  auto asker =
    spawn_by(node.cluster.system(), [=](caf::event_based_actor* self) {
      return caf::behavior{
        [=](const connect_outcome& x) {
          promise->set_value(x.head.has_value());
          self->quit();
        },
      };
    });
  connect_options o;
  o.port = head.port;
  connect(node.cluster.system(), node.cluster.transport(), o, asker);
  auto outcome = promise->get_future();
  BOOST_REQUIRE((outcome.wait_for(seconds{20}) == std::future_status::ready));
  BOOST_TEST(outcome.get());
}

BOOST_AUTO_TEST_CASE(only_loopback_is_listened_on_unless_insecure) {
  test_head head;
  auto whom = caf::actor_cast<caf::strong_actor_ptr>(head.actor);
  for (auto address : {"0.0.0.0", "::", "10.0.0.1", "example.org", ""}) {
    listen_options o;
    o.address = address;
    o.port = 0;
    auto outcome = listen(head.cluster, whom, o);
    BOOST_REQUIRE(!outcome);
    BOOST_TEST((outcome.error().code == ec::invalid_argument));
  }
  listen_options o;
  o.address = "0.0.0.0";
  o.port = 0;
  o.expose = exposure::insecure;
  BOOST_TEST(listen(head.cluster, whom, o).has_value());
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_an_error) {
  test_head head;
  listen_options o;
  o.port = head.port;
  auto outcome =
    listen(head.cluster, caf::actor_cast<caf::strong_actor_ptr>(head.actor), o);
  BOOST_REQUIRE(!outcome);
  BOOST_TEST((outcome.error().code == ec::io));
}

BOOST_AUTO_TEST_SUITE_END()
