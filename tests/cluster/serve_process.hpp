// A running `troupe serve` on ports of its own, and what tests ask of it. Every
// wait is bounded.
#pragma once

#include "tests/support/troupe_process.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troupe::testing {

/// A completion as the client sees it.
struct completion_text {
  unsigned status = 0; ///< Of HTTP; 0: the connection ended.
  std::string text;
  std::vector<int32_t> ids;
  std::string finish_reason;
  uint64_t remote_pairs = 0;
  uint64_t rerouted_pairs = 0;

  /// The text and all that decides it.
  bool operator==(const completion_text& x) const {
    return status == x.status && text == x.text && ids == x.ids &&
           finish_reason == x.finish_reason;
  }
};

std::ostream& operator<<(std::ostream& out, const completion_text& x);

class serve_process {
public:
  /// Starts `troupe serve --model models/demo` with further arguments and waits
  /// until it serves. `actor_port` 0: any. Throws std::runtime_error.
  explicit serve_process(std::vector<std::string> more = {},
                         uint16_t actor_port = 0);

  troupe_process& process() {
    return process_;
  }

  uint16_t http_port() const {
    return http_port_;
  }

  /// Where nodes join.
  uint16_t actor_port() const {
    return actor_port_;
  }

  std::string url() const;

  /// The body of a GET, and its status.
  std::string get(const std::string& path, unsigned expected_status = 200);

  nlohmann::json cluster();

  /// The node's entry in /cluster; null when there is none.
  nlohmann::json node(const std::string& name);

  /// Waits until that node is in that state.
  bool wait_for_node(const std::string& name, const std::string& state,
                     wait_limit limit = std::chrono::seconds(30));

  /// POST /v1/completions, not streaming.
  completion_text complete(const nlohmann::json& body);

  /// The same as a stream, put together again.
  completion_text stream(nlohmann::json body);

private:
  troupe_process process_;
  uint16_t http_port_ = 0;
  uint16_t actor_port_ = 0;
};

/// Adds the events of a stream: "data: {...}" each.
completion_text from_stream(unsigned status, const std::string& body);

} // namespace troupe::testing
