#include "runtime/server/http_session.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/buffers_iterator.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <fmt/format.h>
#include <utility>

namespace troupe {

namespace asio = boost::asio;
namespace http = boost::beast::http;

http_session::http_session(tcp::socket socket, session_host& host)
  : socket_(std::move(socket)), host_(host), timer_(socket_.get_executor()),
    buffer_bytes_max_(host.options.header_bytes_max + 4 * chunk_bytes) {
  // nop
}

void http_session::start() {
  arm(host_.options.idle_timeout);
  read();
}

void http_session::refuse() {
  state_ = state::answering;
  framing_ = {11, false, false};
  reply_error(unavailable(
    fmt::format("too many connections (at most {}); try again later",
                host_.options.connections_max),
    "too_many_connections"));
}

void http_session::begin_drain() {
  if (state_ == state::idle)
    close();
}

void http_session::close() {
  if (state_ == state::closed)
    return;
  state_ = state::closed;
  if (completion_) {
    completion_->inbox->close();
    completion_->meter.ended_early("cancelled");
    host_.service.cancel(completion_->handle);
    completion_.reset();
  }
  error_code ignored;
  timer_.cancel();
  socket_.close(ignored);
  host_.session_closed(*this);
}

// -- input ---

void http_session::read() {
  auto room = buffer_bytes_max_ - buffer_.size();
  if (reading_ || input_ended_ || room == 0)
    return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_, room),
                          handler(&http_session::on_read));
}

void http_session::on_read(error_code failure, size_t bytes) {
  reading_ = false;
  if (failure) {
    input_ended_ = true;
    // A plain answer is on its way and may still be read; a completion is
    // worth its cost only while its client is there.
    if (state_ != state::answering || completion_)
      close();
    return;
  }
  buffer_.commit(
    asio::buffer_copy(buffer_.prepare(bytes), asio::buffer(chunk_, bytes)));
  if (state_ == state::lingering)
    buffer_.consume(buffer_.size());
  if (state_ == state::idle || state_ == state::reading)
    parse();
  else
    read();
}

void http_session::parse() {
  if (!parser_ && !begin_request())
    return;
  error_code problem;
  auto used = parser_->put(buffer_.data(), problem);
  buffer_.consume(used);
  if (problem && problem != http::error::need_more) {
    reject(problem);
    return;
  }
  if (parser_->is_done()) {
    auto whole = parser_->release();
    parser_.reset();
    handle(std::move(whole));
    return;
  }
  if (input_ended_) {
    close();
    return;
  }
  if (parser_->is_header_done() && !expectation_answered_)
    answer_expectation();
  read();
}

bool http_session::begin_request() {
  // Some clients end a body with a line break that its length does not count.
  auto bytes = asio::buffers_begin(buffer_.data());
  size_t breaks = 0;
  while (breaks < buffer_.size() &&
         (bytes[static_cast<std::ptrdiff_t>(breaks)] == '\r' ||
          bytes[static_cast<std::ptrdiff_t>(breaks)] == '\n'))
    ++breaks;
  buffer_.consume(breaks);
  if (buffer_.size() == 0) {
    input_ended_ ? close() : read();
    return false;
  }
  state_ = state::reading;
  arm(host_.options.request_deadline);
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(
    static_cast<std::uint32_t>(host_.options.header_bytes_max));
  parser_->body_limit(host_.options.body_bytes_max);
  expectation_answered_ = false;
  return true;
}

void http_session::answer_expectation() {
  expectation_answered_ = true;
  const auto& expected = parser_->get()[http::field::expect];
  if (boost::beast::iequals(expected, "100-continue"))
    send("HTTP/1.1 100 Continue\r\n\r\n");
}

void http_session::reject(error_code problem) {
  parser_.reset();
  state_ = state::answering;
  framing_ = {11, false, false};
  const auto& limits = host_.options;
  if (problem == http::error::header_limit ||
      problem == http::error::buffer_overflow)
    reply_error(client_error(
      431, fmt::format("header larger than {} bytes", limits.header_bytes_max),
      "header_too_large"));
  else if (problem == http::error::body_limit)
    reply_error(client_error(
      413, fmt::format("body larger than {} bytes", limits.body_bytes_max),
      "body_too_large"));
  else
    reply_error(client_error(
      400, fmt::format("not an HTTP/1.1 request: {}", problem.message()),
      "bad_http"));
}

// -- output ---

void http_session::reply(const http_reply& x) {
  complete(render(x, framing_), x.status);
}

void http_session::reply_error(const api_error& x) {
  reply(error_reply(x));
}

void http_session::complete(std::string bytes, unsigned status) {
  host_.counts
    .at(metric::http_requests, {label(route_), fmt::to_string(status)})
    .add();
  answer_complete_ = true;
  send(std::move(bytes));
}

void http_session::send(std::string bytes) {
  pending_ += bytes;
  write();
}

void http_session::write() {
  if (writing_)
    return;
  if (written_ == in_flight_.size()) {
    in_flight_ = std::exchange(pending_, {});
    written_ = 0;
  }
  if (in_flight_.empty())
    return;
  writing_ = true;
  if (state_ == state::answering)
    arm(host_.options.write_timeout);
  auto rest = asio::buffer(in_flight_) + written_;
  socket_.async_write_some(rest, handler(&http_session::on_written));
}

void http_session::on_written(error_code failure, size_t bytes) {
  writing_ = false;
  if (failure) {
    close();
    return;
  }
  written_ += bytes;
  write();
  if (writing_ || state_ != state::answering)
    return;
  disarm();
  if (answer_complete_)
    next_request();
}

void http_session::next_request() {
  answer_complete_ = false;
  route_ = route::none;
  if (!framing_.keep_alive || host_.draining) {
    linger();
    return;
  }
  state_ = state::idle;
  arm(host_.options.idle_timeout);
  if (buffer_.size() > 0)
    parse();
  else if (input_ended_)
    close();
  else
    read();
}

void http_session::linger() {
  error_code failure;
  socket_.shutdown(tcp::socket::shutdown_send, failure);
  if (failure || input_ended_) {
    close();
    return;
  }
  state_ = state::lingering;
  buffer_.consume(buffer_.size());
  arm(host_.options.linger_timeout);
  read();
}

// -- time ---

void http_session::arm(std::chrono::milliseconds timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([run = handler(&http_session::on_timeout)](error_code x) {
    if (!x)
      run();
  });
}

void http_session::disarm() {
  timer_.expires_at(steady::time_point::max());
}

void http_session::on_timeout() {
  // The timer may have been set anew after this call was queued.
  if (timer_.expiry() > steady::now())
    return;
  if (state_ != state::reading) {
    close();
    return;
  }
  parser_.reset();
  state_ = state::answering;
  framing_ = {11, false, false};
  reply_error(
    client_error(408,
                 fmt::format("the request was not complete after {} ms",
                             host_.options.request_deadline.count()),
                 "request_timeout"));
}

} // namespace troupe
