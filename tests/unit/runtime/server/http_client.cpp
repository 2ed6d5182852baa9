#include "http_client.hpp"

#include "fake_service.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Waits until `fd` is ready for `events`.
bool ready(int fd, short events) {
  pollfd entry{fd, events, 0};
  auto timeout = std::chrono::milliseconds{patience}.count();
  return ::poll(&entry, 1, static_cast<int>(timeout)) == 1;
}

size_t number(std::string_view text, int base) {
  size_t result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result, base);
  return result;
}

/// The value of a field, e.g. "Content-Length".
std::string_view field(const std::string& head, std::string_view name) {
  auto key = fmt::format("\r\n{}: ", name);
  auto begin = head.find(key);
  if (begin == std::string::npos)
    return {};
  begin += key.size();
  return std::string_view{head}.substr(begin, head.find("\r\n", begin) - begin);
}

} // namespace

http_client::http_client(uint16_t port, int receive_buffer_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer_bytes > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof(receive_buffer_bytes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
      0)
    leave();
}

http_client::~http_client() {
  leave();
}

bool http_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!ready(fd_, POLLOUT))
      return false;
    auto n =
      ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool http_client::request(std::string_view method, std::string_view target,
                          std::string_view body, std::string_view fields) {
  auto length = body.empty()
                  ? std::string{}
                  : fmt::format("Content-Length: {}\r\n", body.size());
  return send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}{}\r\n{}", method,
                          target, fields, length, body));
}

std::optional<http_answer> http_client::answer(body_of method) {
  if (!sees("\r\n\r\n"))
    return std::nullopt;
  http_answer result;
  auto end = input_.find("\r\n\r\n") + 2;
  result.head = input_.substr(0, end);
  input_.erase(0, end + 2);
  result.status =
    static_cast<unsigned>(number(std::string_view{result.head}.substr(9), 10));
  if (method == body_of::head || result.status == 100)
    return result;
  if (field(result.head, "Transfer-Encoding") != "chunked") {
    auto length = number(field(result.head, "Content-Length"), 10);
    if (!read_until(length))
      return std::nullopt;
    result.body = input_.substr(0, length);
    input_.erase(0, length);
    return result;
  }
  for (;;) {
    if (!sees("\r\n"))
      return std::nullopt;
    auto line = input_.find("\r\n");
    auto length = number(std::string_view{input_}.substr(0, line), 16);
    if (!read_until(line + 2 + length + 2))
      return std::nullopt;
    result.body += input_.substr(line + 2, length);
    input_.erase(0, line + 2 + length + 2);
    if (length == 0)
      return result;
  }
}

bool http_client::sees(std::string_view text) {
  while (input_.find(text) == std::string::npos)
    if (!fill())
      return false;
  return true;
}

bool http_client::is_closed_by_server() {
  while (ready(fd_, POLLIN)) {
    char bytes[4096];
    if (::recv(fd_, bytes, sizeof(bytes), 0) <= 0)
      return true;
  }
  return false;
}

void http_client::leave() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

void http_client::finish_sending() {
  ::shutdown(fd_, SHUT_WR);
}

bool http_client::fill() {
  if (!ready(fd_, POLLIN))
    return false;
  char bytes[16 * 1024];
  auto n = ::recv(fd_, bytes, sizeof(bytes), 0);
  if (n <= 0)
    return false;
  input_.append(bytes, static_cast<size_t>(n));
  return true;
}

bool http_client::read_until(size_t size) {
  while (input_.size() < size)
    if (!fill())
      return false;
  return true;
}

} // namespace troupe
