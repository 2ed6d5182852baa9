// A TCP connection to 127.0.0.1 in the hands of a test.
#pragma once

#include "runtime/clock.hpp"

#include <arpa/inet.h>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace troupe::testing {

class raw_socket {
public:
  /// Connects; `connected()` tells whether it worked.
  explicit raw_socket(uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
      ::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0;
  }

  raw_socket(raw_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {
    // nop
  }

  ~raw_socket() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  bool connected() const {
    return connected_;
  }

  /// Sends all it can; a peer that has closed is no failure of the test.
  void send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return;
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
  }

  /// Reads and forgets until the peer closes; false if it does not in `limit`.
  bool closed_within(duration limit) {
    auto end = steady::now() + limit;
    while (true) {
      auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(end - steady::now());
      if (rest.count() <= 0)
        return false;
      pollfd event{fd_, POLLIN, 0};
      if (::poll(&event, 1, static_cast<int>(rest.count())) <= 0)
        continue;
      char buffer[4096];
      if (::recv(fd_, buffer, sizeof(buffer), 0) <= 0)
        return true;
    }
  }

private:
  int fd_;
  bool connected_ = false;
};

} // namespace troupe::testing
