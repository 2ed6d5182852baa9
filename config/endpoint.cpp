#include "config/endpoint.hpp"

#include <charconv>

namespace troupe {

namespace {

constexpr size_t host_bytes_max = 253; // RFC 1035

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':';
}

} // namespace

result<endpoint> parse_endpoint(std::string_view text) {
  auto refuse = [&](std::string_view why) {
    return fail(ec::invalid_argument,
                "expected HOST:PORT such as 127.0.0.1:7600, found \"{}\" ({})",
                text.substr(0, 80), why);
  };
  auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return refuse("no port");
  auto host = text.substr(0, colon);
  auto port = text.substr(colon + 1);
  bool bracketed =
    host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed)
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return refuse("an IPv6 address needs brackets");
  if (host.empty() || host.size() > host_bytes_max)
    return refuse("no host");
  for (char c : host)
    if (!is_host_character(c))
      return refuse("the host has a character that none can have");
  endpoint x;
  auto [end, problem] =
    std::from_chars(port.data(), port.data() + port.size(), x.port);
  if (port.empty() || problem != std::errc{} ||
      end != port.data() + port.size())
    return refuse("the port must be 0 to 65535");
  x.host = std::string{host};
  return x;
}

std::string to_string(const endpoint& x) {
  if (x.host.find(':') != std::string::npos)
    return fmt::format("[{}]:{}", x.host, x.port);
  return fmt::format("{}:{}", x.host, x.port);
}

bool is_loopback(const endpoint& x) {
  if (x.host == "localhost" || x.host == "::1")
    return true;
  // 127.0.0.0/8 in digits; "127.evil.example" is a name and resolves anywhere.
  if (x.host.rfind("127.", 0) != 0)
    return false;
  int dots = 0;
  for (char c : x.host) {
    if (c == '.')
      ++dots;
    else if (c < '0' || c > '9')
      return false;
  }
  return dots == 3 && x.host.back() != '.';
}

} // namespace troupe
