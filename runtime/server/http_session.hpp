// One connection of the HTTP server.
//
//          first byte            whole request              all sent
//   idle -------------> reading ---------------> answering ----------> idle
//    |  idle_timeout       | request_deadline        |                  or
//    v                     v (408, 400, 413, 431)    | "close"       lingering
//   closed <------------------ lingering <-----------'                  |
//     ^  end of input or linger_timeout |                               |
//     '---------------------------------'-------------------------------'
//
// One read is always under way (unless the buffer of pipelined requests is
// full): that is how a client's leaving is noticed in mid-answer. Lingering
// discards input after the last answer, so that the client can read it before
// the connection is reset.
#pragma once

#include "runtime/server/completion_answer.hpp"
#include "runtime/server/completion_meter.hpp"
#include "runtime/server/http_message.hpp"
#include "runtime/server/http_server.hpp"
#include "runtime/server/stream_inbox.hpp"

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class http_session;

/// What a session needs from the server it belongs to.
class session_host {
public:
  session_host(const http_options& how, completion_service& engine,
               metrics& numbers)
    : options(how), service(engine), counts(numbers) {
    // nop
  }
  virtual ~session_host() = default;

  /// Called once per session, when it has closed its connection.
  virtual void session_closed(http_session& session) = 0;

  /// Returns a number that has not been returned before and cannot be guessed.
  virtual uint64_t next_random() = 0;

  const http_options options;
  completion_service& service;
  metrics& counts;
  bool draining = false;
};

/// A connection. Lives as long as an operation of it is pending or its host
/// holds it; all calls on the server's thread.
class http_session : public std::enable_shared_from_this<http_session> {
public:
  using tcp = boost::asio::ip::tcp;
  using error_code = boost::system::error_code;

  http_session(tcp::socket socket, session_host& host);

  /// Serves requests until either side closes.
  void start();

  /// Answers 503 without reading: there are too many connections.
  void refuse();

  /// Closes an idle connection; a busy one after its current answer.
  void begin_drain();

  /// Closes at once; cancels the completion under way.
  void close();

private:
  enum class state : uint8_t { idle, reading, answering, lingering, closed };
  using parser =
    boost::beast::http::request_parser<boost::beast::http::string_body>;
  using request = boost::beast::http::request<boost::beast::http::string_body>;

  // -- input ---
  void read();
  void on_read(error_code failure, size_t bytes);
  void parse();
  /// False if there is no byte of a request yet.
  bool begin_request();
  void answer_expectation();
  void reject(error_code problem);

  // -- requests ---
  void handle(request x);
  http_reply answer_to(route to);
  void begin_completion(const std::string& body);
  void run_completion(completion_call call);
  void on_events();
  void on_event(completion_event x);

  // -- output ---
  void reply(const http_reply& x);
  void reply_error(const api_error& x);
  void complete(std::string bytes, unsigned status);
  void send(std::string bytes);
  void write();
  void on_written(error_code failure, size_t bytes);
  void next_request();
  void linger();

  // -- time ---
  void arm(std::chrono::milliseconds timeout);
  void disarm();
  void on_timeout();

  /// Wraps a member function as a handler that keeps the session alive and
  /// closes it if a library throws.
  template <class Member>
  auto handler(Member member);

  tcp::socket socket_;
  session_host& host_;
  boost::asio::steady_timer timer_;
  state state_ = state::idle;

  static constexpr size_t chunk_bytes = 16 * 1024;
  /// Where the read under way puts its bytes. Not in `buffer_`: that is
  /// consumed, and so moved, while a read is under way.
  std::array<char, chunk_bytes> chunk_;
  boost::beast::flat_buffer buffer_; ///< Input that no request has used yet.
  const size_t buffer_bytes_max_;
  bool reading_ = false;     ///< A read is under way.
  bool input_ended_ = false; ///< The client sends nothing any more.
  std::optional<parser> parser_;
  bool expectation_answered_ = false;

  reply_framing framing_;        ///< Of the current answer.
  route route_ = route::none;    ///< Of the current request.
  bool answer_complete_ = false; ///< Nothing will be added to the output.
  std::string pending_;          ///< Output that waits for `in_flight_`.
  std::string in_flight_;
  size_t written_ = 0; ///< Bytes of `in_flight_` the system has taken.
  bool writing_ = false;

  /// A completion under way.
  struct completion {
    std::shared_ptr<stream_inbox> inbox;
    completion_answer answer;
    completion_meter meter;
    request_handle handle;
  };
  std::optional<completion> completion_;
};

template <class Member>
auto http_session::handler(Member member) {
  return [self = shared_from_this(), member](auto... arguments) {
    if (self->state_ == state::closed)
      return;
    try {
      (self.get()->*member)(arguments...);
    } catch (const std::exception&) {
      // Out of memory, or a bug behind the service: this client alone pays.
      self->close();
    }
  };
}

} // namespace troupe
