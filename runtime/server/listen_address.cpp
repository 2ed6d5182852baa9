#include "runtime/server/listen_address.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace troupe {

result<listen_address> parse_listen(const std::string& text) {
  auto colon = text.rfind(':');
  auto host = text.substr(0, colon);
  auto port = colon == std::string::npos ? "" : text.substr(colon + 1);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed)
    host = host.substr(1, host.size() - 2);
  else if (host.find_first_of(":[]") != std::string::npos)
    host.clear(); // IPv6 without brackets: where the port begins is a guess
  listen_address result;
  const auto* last = port.data() + port.size();
  auto [end, problem] = std::from_chars(port.data(), last, result.port);
  if (host.empty() || port.empty() || problem != std::errc{} || end != last)
    return fail(ec::invalid_argument,
                "listen: expected HOST:PORT or [IPV6]:PORT with a port from 0 "
                "to 65535, found \"{}\"",
                text);
  result.host = std::move(host);
  return result;
}

result<std::string> checked_address(const std::string& host,
                                    listen_scope scope) {
  boost::system::error_code problem;
  auto address = boost::asio::ip::make_address(
    host == "localhost" ? "127.0.0.1" : host, problem);
  if (problem)
    return fail(ec::invalid_argument,
                "listen address: expected a numeric IPv4 or IPv6 address or "
                "\"localhost\", found \"{}\"",
                host);
  if (scope == listen_scope::loopback_only && !address.is_loopback())
    return fail(ec::invalid_argument,
                "listen address {} is not a loopback address. Everybody who "
                "reaches it could use the model: there is no authentication. "
                "Allow it explicitly (insecure) if that is what you want",
                host);
  return address.to_string();
}

} // namespace troupe
