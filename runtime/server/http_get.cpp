#include "runtime/server/http_get.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>

namespace troupe {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::string_view scheme = "http://";

tl::unexpected<error> bad_url(const std::string& url, std::string_view why) {
  return fail(ec::invalid_argument,
              "{}: {}; expected http://HOST:PORT, e.g. http://127.0.0.1:8080",
              url, why);
}

result<uint16_t> parse_port(const std::string& url, std::string_view text) {
  uint16_t port = 0;
  const auto* last = text.data() + text.size();
  auto [end, problem] = std::from_chars(text.data(), last, port);
  if (problem != std::errc{} || end != last || port == 0)
    return bad_url(url, fmt::format("\"{}\" is no port", text));
  return port;
}

/// One exchange: resolve, connect, write, read, each after the other.
class exchange {
public:
  exchange(const http_origin& to, const std::string& path,
           const http_get_options& options)
    : request_(http::verb::get, path, 11) {
    const auto port = std::to_string(to.port);
    request_.set(http::field::host, to.host + ":" + port);
    request_.set(http::field::connection, "close");
    parser_.body_limit(options.body_bytes_max);
    resolver_.async_resolve(to.host, port, [this](error_code x, auto found) {
      if (ok(x))
        connect(found);
    });
    loop_.run_for(
      std::chrono::duration_cast<std::chrono::milliseconds>(options.deadline));
  }

  /// True when the answer is whole; else `problem` says why, if it is known.
  bool done = false;
  error_code problem;

  http_reply take() {
    auto reply = parser_.release();
    return {reply.result_int(), std::move(reply.body())};
  }

private:
  bool ok(error_code x) {
    problem = x;
    return !x;
  }

  void connect(const tcp::resolver::results_type& found) {
    stream_.async_connect(found, [this](error_code x, auto) {
      if (ok(x))
        write();
    });
  }

  void write() {
    http::async_write(stream_, request_, [this](error_code x, size_t) {
      if (ok(x))
        read();
    });
  }

  void read() {
    http::async_read(stream_, buffer_, parser_,
                     [this](error_code x, size_t) { done = ok(x); });
  }

  asio::io_context loop_{1};
  tcp::resolver resolver_{loop_};
  beast::tcp_stream stream_{loop_};
  http::request<http::empty_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
};

} // namespace

result<http_origin> parse_origin(const std::string& url) {
  std::string_view rest{url};
  if (rest.substr(0, scheme.size()) != scheme)
    return bad_url(url, "the scheme is missing");
  rest.remove_prefix(scheme.size());
  if (!rest.empty() && rest.back() == '/')
    rest.remove_suffix(1);
  if (rest.find('/') != std::string_view::npos)
    return bad_url(url, "there is a path");
  http_origin out;
  auto colon = rest.rfind(':');
  if (!rest.empty() && rest.front() == '[') {
    auto bracket = rest.find(']');
    if (bracket == std::string_view::npos)
      return bad_url(url, "the bracket is not closed");
    out.host = rest.substr(1, bracket - 1);
    colon = bracket + 1;
    if (colon == rest.size())
      colon = std::string_view::npos;
    else if (rest[colon] != ':')
      return bad_url(url, "expected a port after the bracket");
  } else {
    out.host = rest.substr(0, colon);
  }
  if (out.host.empty())
    return bad_url(url, "the host is missing");
  if (colon == std::string_view::npos)
    return out;
  auto port = parse_port(url, rest.substr(colon + 1));
  if (!port)
    return tl::unexpected(std::move(port.error()));
  out.port = *port;
  return out;
}

result<http_reply> http_get(const std::string& url, const std::string& path,
                            http_get_options options) {
  auto to = parse_origin(url);
  if (!to)
    return tl::unexpected(std::move(to.error()));
  exchange run{*to, path, options};
  if (run.done)
    return run.take();
  if (!run.problem)
    return fail(
      ec::deadline_exceeded, "{}: no answer within {} ms", url,
      std::chrono::duration_cast<std::chrono::milliseconds>(options.deadline)
        .count());
  if (run.problem == asio::error::connection_refused)
    return fail(ec::io,
                "{}: nobody listens there; is `troupe serve` running? Give its "
                "address with --url",
                url);
  return fail(ec::io, "{}: {}", url, run.problem.message());
}

} // namespace troupe
