// A blocking HTTP client for tests that can also misbehave: it sends any bytes,
// reads as little as it likes and leaves at any point. Every wait is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A response, its body unchunked.
struct http_answer {
  unsigned status = 0;
  std::string head; ///< Status line and fields, each ended by CRLF.
  std::string body;
};

class http_client {
public:
  /// Connects to 127.0.0.1. `receive_buffer_bytes` > 0 makes the system's
  /// buffer small.
  explicit http_client(uint16_t port, int receive_buffer_bytes = 0);
  ~http_client();
  http_client(const http_client&) = delete;
  http_client& operator=(const http_client&) = delete;

  bool connected() const {
    return fd_ >= 0;
  }

  /// False if the server closed the connection or does not read.
  bool send(std::string_view bytes);

  /// Sends a request with a Content-Length if there is a body.
  bool request(std::string_view method, std::string_view target,
               std::string_view body = {}, std::string_view fields = {});

  /// `head`: the response has no body, whatever its head says.
  enum class body_of : uint8_t { any, head };

  /// Reads one response; nothing if the connection ended before its end.
  std::optional<http_answer> answer(body_of method = body_of::any);

  /// Reads until `text` was seen in what is not yet consumed.
  bool sees(std::string_view text);

  /// Waits for the end of the stream, discarding what still comes.
  bool is_closed_by_server();

  /// Closes the connection.
  void leave();

  /// Ends the sending half.
  void finish_sending();

private:
  bool fill();
  bool read_until(size_t size);

  int fd_ = -1;
  std::string input_;
};

} // namespace troupe
