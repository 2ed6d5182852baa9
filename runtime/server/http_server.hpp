// The HTTP gateway: one thread, every connection, queue and wait bounded.
// Routes: POST /v1/completions, GET /v1/models /health /ready /metrics
// /cluster. Every error has a JSON body {"error":{message,type,code}}.
//
// While a completion runs the connection is still read: a client that closes
// it (or its sending half) has left, and the request is cancelled.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/error.hpp"
#include "runtime/server/listen_address.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

class completion_service;
class metrics;

/// Addresses and bounds.
struct http_options {
  std::string address = "127.0.0.1"; ///< Numeric IPv4 or IPv6, or "localhost".
  uint16_t port = 8080;              ///< 0: the system chooses.
  listen_scope scope = listen_scope::loopback_only;
  size_t connections_max = 256; ///< Further ones are answered 503.
  size_t header_bytes_max = 16 * 1024;
  size_t body_bytes_max = 1024 * 1024;
  size_t output_bytes_max = 1024 * 1024; ///< Unsent bytes of one stream.
  size_t send_buffer_bytes = 128 * 1024; ///< Of the socket, in the system.
  std::chrono::milliseconds idle_timeout{60'000};     ///< Between requests.
  std::chrono::milliseconds request_deadline{20'000}; ///< First to last byte.
  std::chrono::milliseconds write_timeout{30'000};    ///< Without any progress.
  std::chrono::milliseconds linger_timeout{1'000};    ///< After an error reply.
};

/// A running server.
///
///   start --> serving --drain--> draining --last stream or deadline--> ended
///                 \------------------stop------------------------------^
class http_server {
public:
  /// Binds, then serves on a thread of its own until `stop` or a drain ends it.
  /// `service` and `counts` must outlive the server. Fails with
  /// ec::invalid_argument (address, scope) or ec::io (port in use, no rights).
  static result<std::unique_ptr<http_server>> start(const http_options& options,
                                                    completion_service& service,
                                                    metrics& counts);

  /// Stops, and joins the thread.
  ~http_server();

  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// The port listened on; the system's choice when 0 was asked for.
  uint16_t port() const;

  /// "http://127.0.0.1:8080"
  std::string url() const;

  /// Stops accepting, refuses new completions (503), closes idle connections,
  /// and ends when the last stream has, or after `deadline` by force (open
  /// requests are cancelled). Returns at once. Not for signal handlers.
  void drain(std::chrono::milliseconds deadline);

  /// Cancels everything and ends. Returns at once; safe to repeat.
  void stop();

  /// Waits until the server has ended; false after `timeout`.
  bool wait(std::chrono::milliseconds timeout);

private:
  class implementation;
  explicit http_server(std::unique_ptr<implementation> impl);

  std::unique_ptr<implementation> impl_;
};

} // namespace troupe
