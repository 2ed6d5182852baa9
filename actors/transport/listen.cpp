// Opens the head's port and gives it to CAF's broker behind a guarded doorman.
#include "actors/transport/listen.hpp"

#include "actors/transport/guarded_doorman.hpp"
#include "actors/transport/guarded_scribe.hpp"
#include "runtime/assert.hpp"

#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/make_counted.hpp>
#include <caf/scoped_actor.hpp>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace troupe {

namespace {

constexpr int kernel_backlog = 128;
constexpr auto broker_deadline = std::chrono::seconds{5};

struct endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool loopback = false;
};

result<endpoint> parse(const listen_options& o) {
  endpoint x;
  auto text = o.address == "localhost" ? std::string{"127.0.0.1"} : o.address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(o.port);
    x.loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    x.size = sizeof(v4);
    std::memcpy(&x.storage, &v4, sizeof(v4));
    return x;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(o.port);
    x.loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    x.size = sizeof(v6);
    std::memcpy(&x.storage, &v6, sizeof(v6));
    return x;
  }
  return fail(ec::invalid_argument,
              "listen: '{}' is no numeric address: give one such as 127.0.0.1",
              o.address);
}

/// Owns a socket until somebody takes it.
class socket_guard {
public:
  explicit socket_guard(int fd) : fd_(fd) {
    // nop
  }
  ~socket_guard() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  socket_guard(const socket_guard&) = delete;
  socket_guard& operator=(const socket_guard&) = delete;

  int fd() const {
    return fd_;
  }
  int release() {
    return std::exchange(fd_, -1);
  }

private:
  int fd_;
};

tl::unexpected<error> listen_failure(const listen_options& o, int number) {
  return fail(ec::io, "listen: {}:{}: {}{}", o.address, o.port,
              std::strerror(number),
              number == EADDRINUSE ? "; choose another port" : "");
}

result<int> open_listener(const listen_options& o, const endpoint& at) {
  socket_guard s{::socket(at.storage.ss_family,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (s.fd() < 0)
    return listen_failure(o, errno);
  int on = 1;
  if (::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(s.fd(), reinterpret_cast<const sockaddr*>(&at.storage), at.size) !=
        0 ||
      ::listen(s.fd(), kernel_backlog) != 0)
    return listen_failure(o, errno);
  return s.release();
}

} // namespace

result<uint16_t> listen(cluster_system& cluster,
                        const caf::strong_actor_ptr& whom,
                        const listen_options& options) {
  TROUPE_ASSERT(whom != nullptr);
  auto at = parse(options);
  if (!at)
    return tl::unexpected(at.error());
  if (!at->loopback && options.expose != exposure::insecure)
    return fail(ec::invalid_argument,
                "listen: {} can be reached from other machines and the "
                "connection is not encrypted: use 127.0.0.1, or set `insecure` "
                "if you trust everyone on that network",
                options.address);
  auto fd = open_listener(options, *at);
  if (!fd)
    return tl::unexpected(fd.error());
  auto& sys = cluster.system();
  caf::io::doorman_ptr doorman = caf::make_counted<guarded_doorman>(
    multiplexer_of(sys), *fd, cluster.transport());
  auto port = doorman->port();
  caf::scoped_actor self{sys, true};
  result<uint16_t> outcome = port;
  self
    ->request(basp_broker_of(sys), broker_deadline, caf::publish_atom::value,
              std::move(doorman), port, whom, std::set<std::string>{})
    .receive([] {},
             [&](caf::error& e) {
               outcome = fail(ec::internal,
                              "listen: the I/O thread did not "
                              "take the port: {}",
                              sys.render(e));
             });
  return outcome;
}

} // namespace troupe
