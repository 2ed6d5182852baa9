// Name lookup and TCP connect with poll(2) as the only wait.
#include "actors/transport/dial.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Milliseconds for poll(2), rounded up, so that it does not spin at the end.
int remaining_ms(time_point deadline) {
  auto rest =
    std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
  return static_cast<int>(std::clamp<int64_t>(rest.count(), 0, 1'000'000));
}

/// Waits for the outcome of a connect in progress. Returns an errno or 0.
int await_connect(int fd, time_point deadline) {
  while (true) {
    auto ms = remaining_ms(deadline);
    pollfd event{fd, POLLOUT, 0};
    auto ready = ::poll(&event, 1, ms);
    if (ready < 0 && errno != EINTR)
      return errno;
    if (ready > 0)
      break;
    if (ms == 0)
      return ETIMEDOUT;
  }
  int outcome = 0;
  socklen_t size = sizeof(outcome);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &outcome, &size) != 0)
    return errno;
  return outcome;
}

/// Tries one address. Returns a socket, or a negated errno.
int try_address(const addrinfo& at, time_point deadline) {
  int fd =
    ::socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -errno;
  int outcome = 0;
  if (::connect(fd, at.ai_addr, at.ai_addrlen) != 0) {
    outcome = errno;
    if (outcome == EINPROGRESS)
      outcome = await_connect(fd, deadline);
  }
  if (outcome == 0)
    return fd;
  ::close(fd);
  return -outcome;
}

} // namespace

result<int> dial(const std::string& host, uint16_t port, time_point deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  auto status =
    ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0)
    return fail(ec::not_found, "connect: host '{}': {}", host,
                ::gai_strerror(status));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list{found,
                                                            ::freeaddrinfo};
  int last = ETIMEDOUT;
  for (auto* at = list.get(); at != nullptr; at = at->ai_next) {
    auto fd = try_address(*at, deadline);
    if (fd >= 0)
      return fd;
    last = -fd;
  }
  if (last == ETIMEDOUT)
    return fail(ec::deadline_exceeded,
                "connect: {}:{} does not answer: check the address and that "
                "the head runs",
                host, port);
  return fail(ec::io, "connect: {}:{}: {}", host, port, std::strerror(last));
}

} // namespace troupe
